"""Linear models and tree ensembles with the scikit-learn API.

    tutti.learn.linear     logistic regression, linear SVMs, least squares, Lasso, Poisson and gamma regression
    tutti.learn.tree       decision trees, random forests, extra trees, gradient boosting, model import
    tutti.learn.data       readers and writers of data files
    tutti.learn.model      model files
"""
