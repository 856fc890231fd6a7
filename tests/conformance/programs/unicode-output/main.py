for s in ("naïve", "日本語", "Ελλάδα", "👩‍🔬", "e\u0301", "\U0001F9EA", "شكرا"):
    print(s, len(s), len(s.encode()))
print("tab\tcr\rbell\a nul\0 esc\x1b[0m del\x7f", "\u2028", "\ufeff")
