package collective_test

import (
	"context"
	"fmt"
	"testing"

	"heddle/collective"
	"heddle/verbs/sim"
)

// benchmark has all ranks of a group do the same, so many times, each as fast as it
// can. All are in this process: a figure is of the work of all of them.
func benchmark(b *testing.B, ranks int, cfg collective.Config, bytes int, do func(ctx context.Context, g *collective.Group) func() error) {
	b.Helper()
	w := newWorld(b, ranks, sim.Config{}, cfg)
	defer w.close()
	calls := make([]func() error, ranks)
	for r, g := range w.groups {
		calls[r] = do(b.Context(), g)
	}
	times := func(n int) {
		w.each(func(r int) error {
			for range n {
				if err := calls[r](); err != nil {
					return err
				}
			}
			return nil
		})
	}
	times(4) // until all is as long as it gets
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	b.ResetTimer()
	times(b.N)
	b.StopTimer()
}

// ways calls a benchmark for each way that broadcasts go.
func ways(b *testing.B, run func(b *testing.B, cfg collective.Config)) {
	b.Helper()
	for name, way := range map[string]collective.Way{"multicast": collective.ByMulticast, "READ": collective.ByRead, "tree": collective.ByTree} {
		b.Run(name, func(b *testing.B) { run(b, collective.Config{Joiner: group, Way: way, Slots: 64}) })
	}
}

func BenchmarkBcast(b *testing.B) {
	for _, size := range []int{8, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			ways(b, func(b *testing.B, cfg collective.Config) {
				benchmark(b, 4, cfg, size, func(ctx context.Context, g *collective.Group) func() error {
					buf := make([]byte, size)
					return func() error { return g.Bcast(ctx, 0, buf) }
				})
			})
		})
	}
}

func BenchmarkBarrier(b *testing.B) {
	benchmark(b, 4, collective.Config{Joiner: group, Slots: 16}, 0, func(ctx context.Context, g *collective.Group) func() error {
		return func() error { return g.Barrier(ctx) }
	})
}

func BenchmarkAllReduce(b *testing.B) {
	const values = 8 << 10
	ways(b, func(b *testing.B, cfg collective.Config) {
		benchmark(b, 4, cfg, 8*values, func(ctx context.Context, g *collective.Group) func() error {
			list := make([]float64, values)
			return func() error { return collective.AllReduce(ctx, g, list, collective.Sum[float64]) }
		})
	})
}

func BenchmarkAllGather(b *testing.B) {
	const size = 16 << 10
	ways(b, func(b *testing.B, cfg collective.Config) {
		benchmark(b, 4, cfg, 4*size, func(ctx context.Context, g *collective.Group) func() error {
			mine, all := make([]byte, size), make([]byte, 4*size)
			return func() error { return g.AllGather(ctx, mine, all) }
		})
	})
}
