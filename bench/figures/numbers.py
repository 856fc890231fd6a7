"""Samples to figures."""


def at(samples, q):
    """The value below which the share q of the samples lies (nearest rank)."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def summary(samples):
    return {
        "samples": len(samples),
        "minMs": round(min(samples), 4),
        "meanMs": round(sum(samples) / len(samples), 4),
        "p50Ms": round(at(samples, 0.50), 4),
        "p95Ms": round(at(samples, 0.95), 4),
        "p99Ms": round(at(samples, 0.99), 4),
        "maxMs": round(max(samples), 4),
    }
