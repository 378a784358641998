package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/cli/perf"
	"heddle/internal/peer"
)

// Verbs measures devices, between two processes of this host, beside UCX's
// shared memory.
type Verbs struct {
	// Program is the path of heddle itself, which runs as the other end.
	Program string
	// Peer measures UCX beside.
	Peer bool
	// Runs is how often each figure is measured, of which the median counts.
	Runs int
	// Short divides the messages of a run by a hundred.
	Short bool
	// Watch is told what runs next.
	Watch func(what string)
}

// verbsRow is a figure to measure.
type verbsRow struct {
	group, metric, unit string
	spec                perf.Spec
	value               func(perf.Result) float64
	ucx                 peer.UCXRun // beside, if any
	ucxValue            func(peer.UCXResult) float64
	socket              bool // a Unix socket beside
	awake               bool // idle CPUs do not stop
}

// verbsStage is two ends of a device, and what was measured so far.
type verbsStage struct {
	*Verbs
	*couple
	peerName string
	ours     [][]float64 // by row
	peers    map[string][]float64
	allocs   []uint64 // the most, by row
}

// Measure measures all that a device can do.
func (v *Verbs) Measure(ctx context.Context, d VerbsDevice) (list []Figure, err error) {
	s := &verbsStage{Verbs: v, peers: map[string][]float64{}}
	if v.Peer {
		if s.peerName, err = peer.Version(ctx, "ucx_info"); err != nil {
			return nil, err
		}
	}
	if s.couple, err = newCouple(ctx, v.Program, d); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	rows := s.rows()
	s.ours, s.allocs = make([][]float64, len(rows)), make([]uint64, len(rows))
	order := make([]int, len(rows))
	for i := range rows {
		order[i] = i
	}
	err = interleaved(v.Runs, order, func(run, i int) error {
		r := &rows[i]
		s.watch("%s: %s, %s, run %d of %d", s.device.name(), r.group, r.metric, run+1, s.Runs)
		if err := s.measure(ctx, i, r, run); err != nil {
			return fmt.Errorf("%s, %s: %w", r.group, r.metric, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.figures(rows), nil
}

// rows are the figures that the device has.
func (s *verbsStage) rows() (list []verbsRow) {
	stop, err := keepAwake()
	if err == nil {
		err = stop()
	}
	for _, r := range verbsRows() {
		if r.awake && err != nil {
			continue // it is not allowed
		}
		switch {
		case s.device.Alone:
			r.spec.Iters /= 50 // such devices are simulated
		case s.Short:
			r.spec.Iters /= 100
		}
		r.spec.Iters = max(r.spec.Iters, 100)
		r.ucx.Iters = r.spec.Iters
		r.spec.Timeout = time.Minute
		if s.end.Fits(r.spec) == nil {
			list = append(list, r)
		}
	}
	return list
}

// measure measures a row once, and what is beside it directly after.
func (s *verbsStage) measure(ctx context.Context, i int, r *verbsRow, run int) (err error) {
	if r.awake {
		stop, err := keepAwake()
		if err != nil {
			return err
		}
		defer stop() //nolint:errcheck // the next row would tell
	}
	got, err := s.link.Run(s.end, r.spec)
	if err != nil {
		return err
	}
	s.ours[i] = append(s.ours[i], r.value(got))
	s.allocs[i] = max(s.allocs[i], got.Allocs)
	if err := s.beside(ctx, r, run); err != nil {
		return fmt.Errorf("beside it: %w", err)
	}
	return nil
}

// beside measures the peer, if it was not in this run.
func (s *verbsStage) beside(ctx context.Context, r *verbsRow, run int) error {
	key := r.peerKey()
	if len(s.peers[key]) > run {
		return nil
	}
	switch {
	case r.socket:
		got, err := s.link.Run(s.end, perf.Spec{Test: perf.Socket, Iters: r.spec.Iters, Timeout: r.spec.Timeout})
		if err != nil {
			return err
		}
		s.peers[key] = append(s.peers[key], got.Times.Median)
	case s.Peer && r.ucxValue != nil:
		got, err := r.ucx.Run(ctx, s.dir)
		if err != nil {
			return err
		}
		s.peers[key] = append(s.peers[key], r.ucxValue(got))
	}
	return nil
}

func (r *verbsRow) peerKey() string {
	return fmt.Sprint(r.socket, r.awake, r.group, r.ucx.Test, r.ucx.Size)
}

// figures are the medians, and the allocations after them.
func (s *verbsStage) figures(rows []verbsRow) []Figure {
	self := func(x float64) float64 { return x }
	var list []Figure
	for i := range rows {
		r := &rows[i]
		f := Figure{
			Device: s.device.name(), Case: r.group, Metric: r.metric, Unit: r.unit,
			Ours: median(s.ours[i], self), Runs: len(s.ours[i]),
		}
		if got := s.peers[r.peerKey()]; len(got) > 0 {
			f.PeerName = s.peerName + " " + r.ucx.Test
			if r.socket {
				f.PeerName = "Unix socket"
			}
			f.compare(median(got, self))
		}
		list = append(list, f)
	}
	return append(list, s.allocations(rows)...)
}

// allocations are of an operation, the most of any run, as each of them counts.
func (s *verbsStage) allocations(rows []verbsRow) (list []Figure) {
	for i := range rows {
		if rows[i].spec.Test == perf.Wake {
			continue // sleeping may allocate
		}
		list = append(list, Figure{
			Device: s.device.name(), Case: "allocations for each operation",
			Metric: rows[i].group + ", " + rows[i].metric, Ours: float64(s.allocs[i]), Runs: len(s.ours[i]),
		})
	}
	return list
}

func (v *Verbs) watch(format string, args ...any) {
	if v.Watch != nil {
		v.Watch(fmt.Sprintf(format, args...))
	}
}
