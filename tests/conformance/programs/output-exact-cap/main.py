print("y" * 999)
