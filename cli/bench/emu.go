package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/fabric/topology"
	"heddle/internal/peer"
)

// Emu compares the emulated subnet with ibsim. Both serve in processes of their
// own, from the same net file, to the same programs.
type Emu struct {
	// Program is the path of heddle itself, which runs as the server.
	Program string
	// Peer measures ibsim beside.
	Peer bool
	// Runs is how often each figure is measured, of which the median counts.
	Runs int
	// SMPs are how many SMPs a run of Throughput sends.
	SMPs int
	// Watch is told what runs next.
	Watch func(what string)
}

// stage is a fabric on which servers are compared.
type stage struct {
	*Emu
	spec     string
	fabric   *fabric.Fabric
	dir      string // holds all that the stage needs
	netFile  string
	servers  []server
	peerName string   // with its version
	with     []string // the other programs, with their versions
	sockets  int      // how many names were used
}

// stage makes the fabric and its net file; the programs are those that take
// part. The stage's close removes the files.
func (e *Emu) stage(ctx context.Context, spec string, programs ...string) (*stage, error) {
	e.watch("%s", spec)
	s := &stage{Emu: e, spec: spec, servers: e.servers()}
	if err := s.versions(ctx, programs); err != nil {
		return nil, err
	}
	var err error
	if s.fabric, err = topology.Generate(spec); err != nil {
		return nil, err
	}
	if len(s.fabric.Adapters()) == 0 {
		return nil, fmt.Errorf("%s has no adapters", spec)
	}
	if s.dir, err = os.MkdirTemp("", "heddle-bench-"); err != nil {
		return nil, err
	}
	s.netFile = filepath.Join(s.dir, "net")
	if err := writeNet(s.netFile, s.fabric); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// versions finds the programs, so that one that is missing is told before
// anything runs.
func (s *stage) versions(ctx context.Context, programs []string) (err error) {
	if s.Peer {
		if s.peerName, err = peer.Version(ctx, "ibsim"); err != nil {
			return err
		}
	}
	for _, program := range programs {
		version, err := peer.Version(ctx, program)
		if err != nil {
			return err
		}
		s.with = append(s.with, version)
	}
	return nil
}

func (s *stage) close() { os.RemoveAll(s.dir) } //nolint:errcheck // what stays is in the system's directory for that

func writeNet(path string, f *fabric.Fabric) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := format.Write(file, f, "ibsim"); err != nil {
		file.Close() //nolint:errcheck // the first error is told
		return err
	}
	return file.Close()
}

func (e *Emu) watch(format string, args ...any) {
	if e.Watch != nil {
		e.Watch(fmt.Sprintf(format, args...))
	}
}

// adapter is the ID of an adapter, or of the last where there are not so many.
func (s *stage) adapter(i int) string {
	adapters := s.fabric.Adapters()
	return s.fabric.Node(adapters[min(i, len(adapters)-1)]).ID
}

// metric is one figure of a T.
type metric[T any] struct {
	name, unit string
	value      func(T) float64
}

// figures are medians of results of one case, by server.
func figures[T any](s *stage, name string, results [][]T, metrics []metric[T]) []Figure {
	var list []Figure
	for _, m := range metrics {
		f := Figure{
			Fabric: s.spec, Case: name, Metric: m.name, Unit: m.unit,
			Ours: median(results[0], m.value), Runs: len(results[0]), PeerName: s.peerName, With: s.with,
		}
		if len(results) > 1 {
			f.compare(median(results[1], m.value))
		}
		list = append(list, f)
	}
	return list
}
