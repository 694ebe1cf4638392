"""The other end of the guest's serial adapter."""

import selectors
import socket
import subprocess


class FarEnd:
    """A program whose standard input and output are the line. Plugged in, it is connected to QEMU's
    socket at `path`, and the adapter is on the guest's bus."""

    def __init__(self, selector, path, command, folder):
        self._selector = selector
        self._path = path
        self._command = command
        self._folder = folder
        self._ends = []
        self._process = None
        self._bytes_left = None

    def plug(self):
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(self._command, stdin=theirs, stdout=theirs,
                                             cwd=self._folder)
        guest = socket.socket(socket.AF_UNIX)
        guest.connect(self._path)
        self._ends = [guest, ours]
        self._selector.register(guest, selectors.EVENT_READ, lambda: self._pass(guest, ours))
        self._selector.register(ours, selectors.EVENT_READ, lambda: self._pass(ours, guest))

    def unplug_after(self, count):
        """When so many more bytes have come from the guest."""
        self._bytes_left = count

    def unplug(self):
        for end in self._ends:
            self._selector.unregister(end)
            end.close()
        self._ends = []
        self._bytes_left = None
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _pass(self, source, target):
        # The callback before this one may have unplugged it.
        if source not in self._ends:
            return
        try:
            data = source.recv(4096)
            if source is self._ends[0] and self._bytes_left is not None:
                data = data[:self._bytes_left]
                self._bytes_left -= len(data)
            target.sendall(data)
        except OSError:
            data = b""
        if not data or self._bytes_left == 0:
            self.unplug()
