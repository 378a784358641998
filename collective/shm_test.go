//go:build linux && (amd64 || arm64)

package collective_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collective"
	"heddle/verbs/shm"
)

// TestSharedMemory: a group over shared memory, which has no multicast.
func TestSharedMemory(t *testing.T) {
	const n = 4
	devices, err := shm.Provider{}.Devices()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	exchanges := collective.LocalExchange(n)
	var all errgroup.Group
	for r := range n {
		all.Go(func() error {
			dev, err := devices[0].Open()
			if err != nil {
				return err
			}
			defer dev.Close() //nolint:errcheck // the group's Close tells
			g, err := collective.New(ctx, dev, r, n, exchanges[r], collective.Config{Joiner: group})
			if err != nil {
				return err
			}
			if g.Way() != collective.ByRead {
				return fmt.Errorf("broadcasts by %v", g.Way())
			}
			for _, length := range []int{8, 100_000} {
				if err := gather(ctx, g, length); err != nil {
					return err
				}
			}
			if err := reductions(ctx, g); err != nil {
				return err
			}
			if err := g.Barrier(ctx); err != nil {
				return err
			}
			return g.Close()
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}
