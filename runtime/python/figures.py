"""Figures without a display: what plt.show() shows, and what is left open at the end, become figure-N.png files in the
working directory, from where they are collected as artifacts.

Installed when matplotlib.pyplot is imported, in a zygote or, where a zygote has not imported it, in a guest.
"""
import sys


def install(pyplot):
    from functools import wraps

    from matplotlib.backend_bases import FigureManagerBase as manager
    from matplotlib.figure import Figure

    from matplotlib._pylab_helpers import Gcf

    plain_savefig = Figure.savefig

    def savefig(self, *args, **kwargs):
        self._mayfly_saved = True
        return plain_savefig(self, *args, **kwargs)

    def save(figure):
        import os

        n = 1
        while os.path.lexists(f"figure-{n}.png"):
            n += 1
        plain_savefig(figure, f"figure-{n}.png", format="png")
        figure._mayfly_saved = True

    def show_all(*args, **kwargs):
        for m in Gcf.get_all_fig_managers():
            save(m.canvas.figure)
        pyplot.close("all")  # a window that was shown has been closed: the next show starts anew

    def show(self):
        save(self.canvas.figure)

    def finish():
        for m in Gcf.get_all_fig_managers():
            if not getattr(m.canvas.figure, "_mayfly_saved", False) and m.canvas.figure.axes:
                save(m.canvas.figure)

    Figure.savefig = wraps(plain_savefig)(savefig)
    pyplot.show = wraps(pyplot.show)(show_all)
    manager.show = show  # Figure.show()
    import atexit

    atexit.register(finish)


class _Finder:
    """Waits on sys.meta_path for matplotlib.pyplot, and installs the above into it."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.pyplot":
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            install(module)

        spec.loader.exec_module = exec_module
        return spec


def expect():
    sys.meta_path.insert(0, _Finder())
