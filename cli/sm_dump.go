package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"heddle/cli/text"
	"heddle/route"
	"heddle/route/format"
	"heddle/sm"
	"heddle/sm/opensm"
)

// dumper writes the files that OpenSM dumps.
type dumper struct {
	dir     string // "" for none
	routing bool   // after sweeps all of them, not only that of the subnet
	log     *slog.Logger

	dumped       bool
	nodes, links int // of what was dumped last
}

// swept dumps after a sweep that changed something.
func (d *dumper) swept(s sm.Subnet, r *sm.Report) {
	f := s.View.Fabric
	if d.dir == "" || d.dumped && r.Sent == 0 && d.nodes == f.NumNodes() && d.links == f.NumLinks() {
		return
	}
	if _, err := d.dump(s, d.routing); err != nil {
		d.log.Error("not dumped", "error", err)
		return
	}
	d.dumped, d.nodes, d.links = true, f.NumNodes(), f.NumLinks()
}

// dumpFile is one of the files.
type dumpFile struct {
	name  string
	write func(w io.Writer) error
}

// dump writes the files, and says which.
func (d *dumper) dump(s sm.Subnet, routing bool) (done string, err error) {
	if d.dir == "" {
		return "", errors.New("there is no --dump-dir")
	}
	files := []dumpFile{{opensm.SubnetLstFile, func(w io.Writer) error { return opensm.WriteSubnetLst(w, s.View) }}}
	if routing {
		hops, err := route.NewHops(s.LFTs.Graph, runtime.NumCPU())
		if err != nil {
			return "", err
		}
		files = append(files,
			dumpFile{opensm.LFTsFile, func(w io.Writer) error { return format.WriteOpenSMLFTs(w, s.LFTs) }},
			dumpFile{opensm.FDBsFile, func(w io.Writer) error { return format.WriteFDBs(w, s.LFTs, hops) }},
			dumpFile{opensm.MCFDBsFile, func(w io.Writer) error { return format.WriteMCFDBs(w, s.MFTs()) }})
	}
	for _, file := range files {
		if err := replaceFile(filepath.Join(d.dir, file.name), file.write); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s in %s\n", text.Count(len(files), "file"), d.dir), nil
}

// isDirectory tells what is wrong with a directory that is to be written to; none
// is as good.
func isDirectory(name string) error {
	if name == "" {
		return nil
	}
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return err
}
