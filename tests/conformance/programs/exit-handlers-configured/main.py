import logging
import logging.config
import logging.handlers


class Late(logging.handlers.BufferingHandler):
    def flush(self):
        while self.buffer:
            print(self.buffer.pop(0).getMessage())


logging.config.dictConfig({"version": 1, "root": {"handlers": ["late"], "level": "INFO"},
                           "handlers": {"late": {"()": lambda: Late(100)}}})
logging.info("one")
print("main")
