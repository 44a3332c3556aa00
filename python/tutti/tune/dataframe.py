"""Trials as a pandas.DataFrame."""

from typing import Any

__all__ = ["trials_dataframe"]


def trials_dataframe(study, attrs: tuple[str, ...], multi_index: bool):
    """See `Study.trials_dataframe`."""
    import pandas

    trials = study.get_trials(deepcopy=False)
    rows: list[dict[tuple[str, str], Any]] = []
    columns: dict[str, dict[tuple[str, str], None]] = {attribute: {} for attribute in attrs}
    for trial in trials:
        row = {}
        for attribute in attrs:
            cells = _cells(study, trial, attribute)
            row.update(cells)
            columns[attribute].update(dict.fromkeys(cells))
        rows.append(row)
    if not rows:
        return pandas.DataFrame()
    names = [name for attribute in attrs for name in sorted(columns[attribute])]
    frame = pandas.DataFrame.from_records([[row.get(name) for name in names] for row in rows],
                                          columns=pandas.MultiIndex.from_tuples(names))
    if not multi_index:
        frame.columns = ["_".join(filter(None, map(str, name))) for name in names]
    return frame


def _cells(study, trial, attribute: str) -> dict[tuple[str, Any], Any]:
    """Return the cells of an attribute of a trial by column."""
    names = study.metric_names
    if attribute in ("value", "values"):
        values = trial.values or [None] * len(study.directions)
        if len(study.directions) == 1 and attribute == "value":
            return {("value", names[0] if names else ""): values[0]}
        keys = names or range(len(values))
        return {("values", key): value for key, value in zip(keys, values, strict=True)}
    if attribute == "state":
        return {("state", ""): trial.state.name}
    value = getattr(trial, attribute)
    if isinstance(value, dict):
        return {(attribute, key): item for key, item in value.items()}
    return {(attribute.removeprefix("_"), ""): value}
