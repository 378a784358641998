package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"heddle/ib"
	"heddle/sm/opensm"
	"heddle/sm/plan"

	"github.com/spf13/cobra"
)

// fileFlags name the files that OpenSM has too.
type fileFlags struct {
	conf, lids, roots, dumps string
	routing                  bool // dumps are of the routing, too
}

func (f *fileFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.conf, "conf", "", "opensm.conf, a `FILE` whose options count where a flag does not say otherwise")
	flags.StringVar(&f.lids, "guid2lid", "", "`FILE` with the LIDs of ports, in OpenSM's form, read at the start and written when LIDs change")
	flags.StringVar(&f.roots, "roots", "", "`FILE` with the GUIDs of updown's root switches, one a line")
	flags.StringVar(&f.dumps, "dump-dir", "", "write OpenSM's dump files into this `DIRECTORY` after sweeps that changed something")
}

// replaceFile puts a file in its place when it is complete, so that whoever reads
// it has the old one or the new one.
func replaceFile(path string, write func(w io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(file.Name()))
		}
	}()
	buffered := bufio.NewWriterSize(file, 1<<16)
	err = write(buffered)
	err = cmp.Or(err, buffered.Flush(), file.Chmod(0o644), file.Sync())
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// lidFile is a guid2lid.
type lidFile struct {
	path string // "" for none
	log  *slog.Logger
	held map[ib.GUID]plan.LIDRange // what the file has
}

// read reads the file; one that is not there has no LIDs.
func (f *lidFile) read() (map[ib.GUID]plan.LIDRange, error) {
	if f.path == "" {
		return nil, nil
	}
	r, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.log.Info("no LIDs from before", "file", f.path)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	lids, faults, err := opensm.ReadLIDs(r, f.path)
	if err != nil {
		return nil, err
	}
	for _, fault := range faults {
		f.log.Warn("guid2lid", "fault", fault.Error())
	}
	if len(faults) == 0 {
		f.held = lids
	}
	return lids, nil
}

// write writes the file, if it does not have these LIDs.
func (f *lidFile) write(lids map[ib.GUID]plan.LIDRange) {
	if f.path == "" || f.held != nil && maps.Equal(f.held, lids) {
		return
	}
	if err := replaceFile(f.path, func(w io.Writer) error { return opensm.WriteLIDs(w, lids) }); err != nil {
		f.log.Error("LIDs not written", "error", err)
		return
	}
	f.held = maps.Clone(lids)
	f.log.Debug("LIDs written", "file", f.path, "ports", len(lids))
}

// readRoots reads the GUIDs of switches, one a line.
func readRoots(path string) (roots []ib.GUID, err error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		guid, err := ib.ParseGUID(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		roots = append(roots, guid)
	}
	return roots, nil
}
