"""Generated 28 x 28 images of digits, in the format of MNIST: shifted, tilted, with varying contrast and noise."""

import torch
import torch.nn.functional as F

# Glyphs of five columns and seven rows.
_FONT = """
01110 00100 01110 11111 00010 11111 00110 11111 01110 01110
10001 01100 10001 00010 00110 10000 01000 00001 10001 10001
10011 00100 00001 00100 01010 11110 10000 00010 10001 10001
10101 00100 00010 00010 10010 00001 11110 00100 01110 01111
11001 00100 00100 00001 11111 00001 10001 01000 10001 00001
10001 00100 01000 10001 00010 10001 10001 01000 10001 00010
01110 01110 11111 01110 00010 01110 01110 01000 01110 01100
"""


def _templates():
    rows = [line.split() for line in _FONT.split("\n") if line]
    return torch.tensor([[[float(c) for c in rows[y][d]] for y in range(7)] for d in range(10)]).unsqueeze(1)


class Digits(torch.utils.data.TensorDataset):
    """Returns `count` images and their labels, determined by the seed."""

    def __init__(self, count, seed):
        random = torch.Generator().manual_seed(seed)
        labels = torch.randint(0, 10, (count,), generator=random)
        angle = (torch.rand(count, generator=random) - 0.5) * 0.6
        size = 1.3 + torch.rand(count, generator=random) * 0.5
        shift = (torch.rand(count, 2, generator=random) - 0.5) * 0.5
        turn = torch.stack([angle.cos() * size * 1.4, -angle.sin() * size, shift[:, 0], angle.sin() * size, angle.cos() * size, shift[:, 1]], 1)
        grid = F.affine_grid(turn.view(-1, 2, 3), (count, 1, 28, 28), align_corners=False)
        pictures = F.grid_sample(_templates()[labels], grid, align_corners=False)
        strength = 0.6 + 0.4 * torch.rand(count, 1, 1, 1, generator=random)
        pictures = pictures * strength + 0.3 * torch.randn(pictures.shape, generator=random)
        super().__init__(pictures, labels)
