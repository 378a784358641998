package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeFile creates a file, and the directory that it is in, and fills it.
func writeFile(path string, fill func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err = buffered(file, fill); err != nil {
		file.Close() //nolint:errcheck // the first error is told
		return fmt.Errorf("%s: %w", path, err)
	}
	return file.Close()
}

// output fills a file, or standard output where the path is empty or "-".
func (a *app) output(path string, fill func(io.Writer) error) error {
	if path == "" || path == "-" {
		return buffered(a.out, fill)
	}
	return writeFile(path, fill)
}

func buffered(out io.Writer, fill func(io.Writer) error) error {
	w := bufio.NewWriterSize(out, 1<<16)
	if err := fill(w); err != nil {
		return err
	}
	return w.Flush()
}
