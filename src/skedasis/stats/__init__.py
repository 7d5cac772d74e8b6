"""Statistics on plain arrays: grids and cells, moments, accumulation, binning, resampling, row hashes."""
