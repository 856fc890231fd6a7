"""Figures without a display: what plt.show() shows, and what is left open at the end, become figure-N.png files in the
task's directory, from where they are collected as artifacts.

A figure that is shown has one file, as it would have one window: shown again, or left open and changed since, it is drawn
into the same one. One that the program has saved itself is not written a second time.

Installed when matplotlib.figure and matplotlib.pyplot are imported, in a zygote or, where a zygote has not imported them,
in a guest.
"""
import builtins
import os
import sys
import threading
import weakref


class Figures:
    """What became of each figure."""

    def __init__(self, figure_class, work):
        self.work = work
        self.figure_class, self.part_class = figure_class, figure_class.__base__
        self.plain_savefig = figure_class.savefig
        self.drawn = weakref.WeakKeyDictionary()  # by us: the path of its file
        self.saved = weakref.WeakKeyDictionary()  # by the program: whether as a file that is collected
        self.lock = threading.Lock()

    def open_ones(self):
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        managers = helpers.Gcf.get_all_fig_managers() if helpers else ()
        return [m.canvas.figure for m in sorted(managers, key=lambda m: m.num)]

    def note_saved(self, figure, target):
        is_path = isinstance(target, (str, os.PathLike))
        self.saved[figure] = is_path and os.path.abspath(os.fsdecode(target)).startswith(self.work + "/")
        figure.stale = False  # from here on it says whether anything was changed

    def leave_to_parent(self):
        """In a fork of the program's: what is open there is not left open here."""
        self.lock = threading.Lock()
        for figure in self.open_ones():
            self.saved.setdefault(figure, False)

    def save(self, figure):
        import io

        picture = io.BytesIO()
        self.plain_savefig(figure, picture, format="png")
        figure.stale = False
        path = self.drawn.pop(figure, None)
        file = open(path, "wb") if path else self.new_file()
        try:
            with file:
                file.write(picture.getbuffer())
        except OSError:
            os.unlink(file.name)  # half a picture is none
            raise
        self.drawn[figure] = file.name

    def new_file(self):
        n = 1
        while True:
            try:
                return open(f"{self.work}/figure-{n}.png", "xb")
            except FileExistsError:
                n += 1

    def show(self, figures):
        """Whatever becomes of one, the others are drawn. Returns an error that is for the caller to raise, or None."""
        first = None
        with self.lock:
            for figure in figures:
                try:
                    if figure.stale or not (figure in self.drawn or self.saved.get(figure)):
                        self.save(figure)
                except Exception as e:
                    if first is None:
                        first = e
                    else:
                        _tell(figure, e)
        return None if first is None else first.with_traceback(_beyond_here(first))

    def finish(self):
        """At the end of the program: what is open, and what sys.displayhook showed last."""
        figures = self.open_ones()
        shown = self.figure_of(vars(builtins).get("_"))
        if shown is not None and shown not in figures:
            figures.append(shown)
        for figure in figures:
            try:
                if self.is_due(figure):
                    self.save(figure)
            except BaseException as e:  # a drawing that exits is an error here like any other
                _tell(figure, e)

    def is_due(self, figure):
        if figure in self.drawn:
            return figure.stale
        return figure not in self.saved and len(figure.get_children()) > 1  # one child is the background

    def figure_of(self, value):
        """The figure itself, or that of a part of it or of axes; else None."""
        if value is None:
            return None
        axes = sys.modules.get("matplotlib.axes")
        parts = (self.part_class, axes.Axes) if axes else (self.part_class,)
        while issubclass(type(value), parts) and not issubclass(type(value), self.figure_class):
            value = value.figure
        return value if issubclass(type(value), self.figure_class) else None


def _beyond_here(error):
    """The error's traceback without the frames of this file."""
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename == __file__:
        tb = tb.tb_next
    return tb


def _tell(figure, error):
    import traceback

    if sys.stderr is not None:
        number = getattr(figure, "number", None)  # of pyplot's only
        print(f"figure {number} could not be saved:" if number else "a figure could not be saved:", file=sys.stderr)
        traceback.print_exception(error.with_traceback(_beyond_here(error)))


def install(module, work):
    """Into matplotlib.figure."""
    import atexit
    from functools import wraps

    figures = Figures(module.Figure, work)

    @wraps(figures.plain_savefig)
    def savefig(self, fname, *args, **kwargs):
        result = figures.plain_savefig(self, fname, *args, **kwargs)
        figures.note_saved(self, fname)
        return result

    module.Figure.savefig = savefig
    os.register_at_fork(after_in_child=figures.leave_to_parent)
    atexit.register(figures.finish)
    return figures


def install_pyplot(pyplot, figures):
    from functools import wraps

    from matplotlib import is_interactive
    from matplotlib.backend_bases import FigureManagerBase

    @wraps(pyplot.show)
    def show(block=None):
        error = figures.show(figures.open_ones())
        if block or (block is None and not is_interactive()):
            pyplot.close("all")  # a window that was shown has been closed: the next show starts anew
        if error is not None:
            raise error

    def show_one(manager):  # Figure.show()
        error = figures.show([manager.canvas.figure])
        if error is not None:
            raise error

    pyplot.show = show
    FigureManagerBase.show = show_one


class _Finder:
    """Waits on sys.meta_path for the two modules, and installs the above into them."""

    def __init__(self, work):
        self.work = work

    def find_spec(self, name, path=None, target=None):
        if name not in ("matplotlib.figure", "matplotlib.pyplot"):
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            self.install(module)

        spec.loader.exec_module = exec_module
        return spec

    def install(self, module):
        if module.__name__ == "matplotlib.figure":
            self.figures = install(module, self.work)
        else:
            install_pyplot(module, self.figures)
            sys.meta_path.remove(self)


def expect(work):
    """Before any of matplotlib is imported. `work`: the folder from where files are collected."""
    sys.meta_path.insert(0, _Finder(work))
