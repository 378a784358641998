package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"heddle/verbs/shm"
)

// benchSizes are the messages of the benchmarks.
var benchSizes = []int{8, 64, 1024, 4096, 65536}

// BenchmarkOneWay is half of what a message and its answer take, between two
// contexts of a process over shared memory: of all rounds, and of the best and the
// middle one of batches of rounds.
func BenchmarkOneWay(b *testing.B) {
	onShared(b, func(b *testing.B, kind *Kind, size int) {
		x, y := shared(b), shared(b)
		there, come := joined(b, kind, x, y, size)
		back, answered := joined(b, kind, y, x, size)
		ctx, cancel := context.WithCancel(b.Context())
		echoed := make(chan error)
		go func() { echoed <- echo(ctx, come, back) }()
		ctxMain := b.Context()
		round := func() {
			err := sendOne(ctxMain, there, size)
			if err == nil {
				var m Message
				m, err = answered.Receive(ctxMain)
				m.Release()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		for range 1000 {
			round()
		}
		const batch = 64
		took := make([]time.Duration, 0, 1<<16)
		b.ReportAllocs()
		start, n := time.Now(), 0
		for b.Loop() {
			round()
			if n++; n%batch == 0 && len(took) < cap(took) {
				now := time.Now()
				took = append(took, now.Sub(start))
				start = now
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/way")
		if len(took) > 0 {
			slices.Sort(took)
			b.ReportMetric(float64(took[0].Nanoseconds())/batch/2, "min-ns/way")
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/batch/2, "p50-ns/way")
		}
		cancel()
		if err := <-echoed; !errors.Is(err, context.Canceled) {
			b.Error(err)
		}
	})
}

// BenchmarkRate is how fast messages go one way, each sent and taken on its own.
func BenchmarkRate(b *testing.B) {
	onShared(b, func(b *testing.B, kind *Kind, size int) {
		s, r := joined(b, kind, shared(b), shared(b), size)
		taken := make(chan error)
		const warm = 1000
		count := make(chan int, 1)
		go func() { taken <- take(b.Context(), r, count) }()
		for range warm {
			if err := sendOne(b.Context(), s, size); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			if err := sendOne(b.Context(), s, size); err != nil {
				b.Fatal(err)
			}
		}
		count <- b.N + warm
		if err := sendOne(b.Context(), s, 0); err != nil {
			b.Fatal(err)
		}
		if err := <-taken; err != nil {
			b.Error(err)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
	})
}

// onShared runs a benchmark for each kind that shared memory has, and each size.
func onShared(b *testing.B, run func(*testing.B, *Kind, int)) {
	caps := shared(b).Caps()
	for _, kind := range Kinds() {
		if kind.Missing(&caps) != nil {
			continue
		}
		for _, size := range benchSizes {
			b.Run(fmt.Sprintf("%s/%d", kind.Name, size), func(b *testing.B) { run(b, kind, size) })
		}
	}
}

// shared is a transport on a new context of the shared memory device.
func shared(b *testing.B) *Transport {
	b.Helper()
	devices, err := shm.Provider{}.Devices()
	if err != nil {
		b.Skip(err)
	}
	dev, err := devices[0].Open()
	if err != nil {
		b.Fatal(err)
	}
	t, err := NewTransport(dev)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(t.Close(), dev.Close()); err != nil {
			b.Error(err)
		}
	})
	return t
}

// joined are a sender and a receiver that are joined.
func joined(b *testing.B, kind *Kind, from, to *Transport, size int) (*Sender, *Receiver) {
	b.Helper()
	cfg := Config{Size: size}
	s, err := from.NewSender(kind, cfg)
	if err != nil {
		b.Fatal(err)
	}
	r, err := to.NewReceiver(kind, cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(s.Close(), r.Close()); err != nil {
			b.Error(err)
		}
	})
	if err := Join(b.Context(), s, r); err != nil {
		b.Fatal(err)
	}
	return s, r
}

// sendOne sends a message as who has nothing to copy: of what is in the lease.
func sendOne(ctx context.Context, s *Sender, size int) error {
	l, err := s.Reserve(ctx, size)
	if err != nil {
		return err
	}
	return l.Commit(size)
}

// echo answers each message by one as long.
func echo(ctx context.Context, r *Receiver, s *Sender) error {
	for {
		m, err := r.Receive(ctx)
		if err != nil {
			return err
		}
		n := len(m.Bytes())
		m.Release()
		if err := sendOne(ctx, s, n); err != nil {
			return err
		}
	}
}

// take takes messages until one is empty, and there were as many as it is told.
func take(ctx context.Context, r *Receiver, count <-chan int) error {
	for n := 0; ; n++ {
		m, err := r.Receive(ctx)
		if err != nil {
			return err
		}
		empty := len(m.Bytes()) == 0
		m.Release()
		if empty {
			if want := <-count; n != want {
				return fmt.Errorf("%d messages came, %d were sent", n, want)
			}
			return nil
		}
	}
}

// BenchmarkCost is the time that a CPU needs for both ends of a message, in turn.
func BenchmarkCost(b *testing.B) {
	onShared(b, func(b *testing.B, kind *Kind, size int) {
		s, r := joined(b, kind, shared(b), shared(b), size)
		ctx := b.Context()
		var sending, receiving time.Duration
		batch := max(1, min(32, 128<<10/max(size, 1))) // all of it is in the ring at once
		b.ReportAllocs()
		for b.Loop() {
			start := time.Now()
			for range batch {
				if err := sendOne(ctx, s, size); err != nil {
					b.Fatal(err)
				}
			}
			middle := time.Now()
			for range batch {
				m, err := r.Receive(ctx)
				if err != nil {
					b.Fatal(err)
				}
				m.Release()
			}
			receiving += time.Since(middle)
			sending += middle.Sub(start)
		}
		b.ReportMetric(float64(sending.Nanoseconds())/float64(b.N)/float64(batch), "send-ns")
		b.ReportMetric(float64(receiving.Nanoseconds())/float64(b.N)/float64(batch), "recv-ns")
	})
}
