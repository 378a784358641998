package channel

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"heddle/verbs/shm"
)

// Benchmarks between two processes: the other one is this binary again.

const otherVar = "HEDDLE_CHANNEL_OTHER"

func TestMain(m *testing.M) {
	if address := os.Getenv(farVariable); address != "" {
		if err := beFar(address); err != nil {
			fmt.Fprintln(os.Stderr, "far side:", err)
			os.Exit(1)
		}
		return
	}
	if address := os.Getenv(dialerVariable); address != "" {
		if err := beDialer(address); err != nil {
			fmt.Fprintln(os.Stderr, "dialer:", err)
			os.Exit(1)
		}
		return
	}
	if address := os.Getenv(memberVariable); address != "" {
		if err := beMember(address, os.Getenv(memberKindVariable)); err != nil {
			fmt.Fprintln(os.Stderr, "member:", err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(otherVar) == "" {
		os.Exit(m.Run())
	}
	if err := other(gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)); err != nil && !errors.Is(err, ErrPeerGone) {
		fmt.Fprintln(os.Stderr, "other process:", err)
		os.Exit(1)
	}
}

// task is what the other process does.
type task struct {
	Kind    string
	Size    int
	Copying bool
	Rate    bool
	Batch   int // messages that are committed together
}

// duplex is a process's end of two channels, one each way.
type duplex struct {
	t       *Transport
	s       *Sender
	r       *Receiver
	copying bool
	data    []byte
	batch   int
	count   int
}

func newDuplex(t task) (*duplex, error) {
	devices, err := shm.Provider{}.Devices()
	if err != nil {
		return nil, err
	}
	dev, err := devices[0].Open()
	if err != nil {
		return nil, err
	}
	kind, err := Find(t.Kind)
	if err != nil {
		return nil, err
	}
	d := &duplex{copying: t.Copying, data: make([]byte, t.Size), batch: t.Batch}
	if d.t, err = NewTransport(dev); err != nil {
		return nil, err
	}
	cfg := Config{Size: max(t.Size, 64)}
	if d.s, err = d.t.NewSender(kind, cfg); err != nil {
		return nil, err
	}
	d.r, err = d.t.NewReceiver(kind, cfg)
	return d, err
}

// meet joins both channels with those of the other side.
func (d *duplex) meet(in *gob.Decoder, out *gob.Encoder) error {
	ps, err := d.s.Invite()
	if err != nil {
		return err
	}
	pr, err := d.r.Invite()
	if err != nil {
		return err
	}
	var theirs [2][]byte
	if err := errors.Join(out.Encode([2][]byte{ps.Hello(), pr.Hello()}), in.Decode(&theirs)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	failed := make(chan error)
	go func() { failed <- ps.Attach(ctx, theirs[1]) }()
	return errors.Join(pr.Attach(ctx, theirs[0]), <-failed)
}

func (d *duplex) send(ctx context.Context, last bool) error {
	if d.batch > 1 {
		return d.sendBatched(ctx, last)
	}
	if d.copying {
		return d.s.Send(ctx, d.data)
	}
	return sendOne(ctx, d.s, len(d.data))
}

// sendBatched has a message go with others, but for the last one of all.
func (d *duplex) sendBatched(ctx context.Context, last bool) error {
	l, err := d.s.Reserve(ctx, len(d.data))
	if err != nil {
		return err
	}
	if d.copying {
		copy(l.Bytes(), d.data)
	}
	if d.count++; d.count%d.batch != 0 && !last {
		return l.CommitMore(len(d.data))
	}
	return l.Commit(len(d.data))
}

func (d *duplex) receive(ctx context.Context) error {
	m, err := d.r.Receive(ctx)
	if err != nil {
		return err
	}
	if len(m.Bytes()) != len(d.data) {
		return fmt.Errorf("%d bytes came", len(m.Bytes()))
	}
	if d.copying {
		copy(d.data, m.Bytes())
	}
	m.Release()
	return nil
}

// other answers each message, or counts as many as it is told, and answers once.
func other(in *gob.Decoder, out *gob.Encoder) error {
	var t task
	if err := in.Decode(&t); err != nil {
		return err
	}
	d, err := newDuplex(t)
	if err != nil {
		return err
	}
	if err := d.meet(in, out); err != nil {
		return err
	}
	ctx := context.Background()
	for {
		var n int
		if err := in.Decode(&n); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for range n {
			if err := d.receive(ctx); err != nil {
				return err
			}
			if !t.Rate {
				if err := d.send(ctx, true); err != nil {
					return err
				}
			}
		}
		if t.Rate {
			if err := d.send(ctx, true); err != nil {
				return err
			}
		}
	}
}

// withOther starts the other process, and gives this one's end and what tells it
// how many messages come.
func withOther(b *testing.B, t task) (*duplex, func(n int)) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), otherVar+"=1")
	cmd.Stderr = os.Stderr
	w, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	r, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(w.Close(), cmd.Wait()); err != nil {
			b.Error(err)
		}
	})
	in, out := gob.NewDecoder(r), gob.NewEncoder(w)
	if err := out.Encode(t); err != nil {
		b.Fatal(err)
	}
	d, err := newDuplex(t)
	if err != nil {
		b.Fatal(err)
	}
	if err := d.meet(in, out); err != nil {
		b.Fatal(err)
	}
	return d, func(n int) {
		if err := out.Encode(n); err != nil {
			b.Fatal(err)
		}
	}
}

func betweenProcesses(b *testing.B, rate bool, batch int, run func(*testing.B, *duplex, func(int))) {
	caps := shared(b).Caps()
	for _, kind := range Kinds() {
		if kind.Missing(&caps) != nil {
			continue
		}
		sizes := benchSizes
		if testing.Short() {
			sizes = []int{64}
		}
		for _, size := range sizes {
			for _, copying := range []bool{false, true} {
				name := fmt.Sprintf("%s/%d/leased", kind.Name, size)
				if copying {
					name = fmt.Sprintf("%s/%d/copied", kind.Name, size)
				}
				b.Run(name, func(b *testing.B) {
					d, tell := withOther(b, task{Kind: kind.Name, Size: size, Copying: copying, Rate: rate, Batch: batch})
					run(b, d, tell)
				})
			}
		}
	}
}

// batchOf are the messages that are timed together.
const batchOf = 64

// BenchmarkWay is half of what a message and its answer take: of the best, and of
// the middle one of the batches.
func BenchmarkWay(b *testing.B) {
	betweenProcesses(b, false, 1, func(b *testing.B, d *duplex, tell func(int)) {
		ctx := b.Context()
		rounds := func(n int) {
			for range n {
				if err := d.send(ctx, true); err != nil {
					b.Fatal(err)
				}
				if err := d.receive(ctx); err != nil {
					b.Fatal(err)
				}
			}
		}
		warmUp := 4096
		if testing.Short() {
			warmUp = 64
		}
		tell(warmUp)
		rounds(warmUp)
		took := make([]time.Duration, 0, 1<<20)
		b.ReportAllocs()
		for b.Loop() {
			tell(batchOf * 16)
			rounds(batchOf) // the other side reads a pipe meanwhile
			for range 15 {
				start := time.Now()
				rounds(batchOf)
				took = append(took, time.Since(start))
			}
		}
		slices.Sort(took)
		way := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / batchOf / 2 }
		b.ReportMetric(way(took[0]), "min-ns/way")
		b.ReportMetric(way(took[len(took)/2]), "p50-ns/way")
	})
}

// BenchmarkFlow is how fast messages go one way.
func BenchmarkFlow(b *testing.B) {
	flowOf(b, 1)
}

// BenchmarkFlowMore is the same where 16 messages are committed together.
func BenchmarkFlowMore(b *testing.B) {
	flowOf(b, 16)
}

func flowOf(b *testing.B, batch int) {
	betweenProcesses(b, true, batch, func(b *testing.B, d *duplex, tell func(int)) {
		ctx := b.Context()
		flow := func(n int) {
			tell(n)
			for i := range n {
				if err := d.send(ctx, i == n-1); err != nil {
					b.Fatal(err)
				}
			}
			if err := d.receive(ctx); err != nil {
				b.Fatal(err)
			}
		}
		flow(1024)
		size := len(d.data)
		n := min(1<<19, 1<<30/size)
		if testing.Short() { // that it runs, not how fast
			n = 4096
		}
		var best float64
		var all []float64
		b.ReportAllocs()
		for b.Loop() {
			start := time.Now()
			flow(n)
			rate := float64(n) / time.Since(start).Seconds() / 1e6
			best = max(best, rate)
			all = append(all, rate)
		}
		slices.Sort(all)
		b.ReportMetric(best, "max-M/s")
		b.ReportMetric(all[len(all)/2], "p50-M/s")
	})
}
