package cli

import (
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"
)

// logFlags say what is logged, how and where.
type logFlags struct {
	file, format, level string
	verbose             bool
}

func (f *logFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "log-file", "", "log to the end of a `FILE`, which SIGUSR1 opens anew; without it to standard error")
	flags.StringVar(&f.format, "log-format", "text", "text or json")
	flags.StringVar(&f.level, "log-level", "info", "debug, info, warn or error: what is less is not logged")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "--log-level debug")
}

// smLog is the log of heddle sm.
type smLog struct {
	*slog.Logger
	file *logFile // nil where it goes to standard error
}

// open makes the log, for which standard error is stderr.
func (f *logFlags) open(stderr io.Writer) (l smLog, err error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return l, usagef("--log-level %q: want debug, info, warn or error", f.level)
	}
	if f.verbose {
		level = slog.LevelDebug
	}
	if f.format != "text" && f.format != "json" {
		return l, usagef("--log-format %q: want text or json", f.format)
	}
	if f.file != "" {
		l.file = &logFile{name: f.file}
		if err := l.file.reopen(); err != nil {
			return l, err
		}
		stderr = l.file
	}
	options := &slog.HandlerOptions{Level: level}
	if f.format == "json" {
		l.Logger = slog.New(slog.NewJSONHandler(stderr, options))
	} else {
		l.Logger = slog.New(slog.NewTextHandler(stderr, options))
	}
	return l, nil
}

// reopen opens the file anew, as another program may have moved it away.
func (l smLog) reopen() {
	if l.file == nil {
		return
	}
	if err := l.file.reopen(); err != nil {
		l.Error("log file not opened anew", "error", err)
		return
	}
	l.Info("log file opened anew")
}

func (l smLog) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// logFile is a file that is written to its end.
type logFile struct {
	name string

	mu   sync.Mutex
	file *os.File // guarded by mu
}

// reopen leaves the old file open where the new one does not open.
func (f *logFile) reopen() error {
	file, err := os.OpenFile(f.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.file
	f.file = file
	if old != nil {
		return old.Close()
	}
	return nil
}

func (f *logFile) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Write(b)
}

func (f *logFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}
