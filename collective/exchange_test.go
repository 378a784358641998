package collective_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collective"
)

// TestStreamExchange: the words of all come to all, twice; strangers do not matter.
func TestStreamExchange(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it may be closed
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stranger(t, l.Addr().String(), nil)
	stranger(t, l.Addr().String(), []byte{200, 0, 0, 0})
	const size = 5
	var all errgroup.Group
	for r := range size {
		all.Go(func() error {
			e, err := join(ctx, l, r, size)
			if err != nil {
				return err
			}
			defer e.Close() //nolint:errcheck // nothing is lost
			return gatherTwice(ctx, e, r, size)
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

func join(ctx context.Context, l net.Listener, rank, size int) (collective.StreamExchange, error) {
	if rank == 0 {
		return collective.ListenExchange(ctx, l, size)
	}
	return collective.DialExchange(ctx, "tcp", l.Addr().String(), rank)
}

func gatherTwice(ctx context.Context, e collective.Exchange, rank, size int) error {
	for round := range 2 {
		all, err := e.AllGather(ctx, bytes.Repeat([]byte{byte(rank), byte(round)}, 1000*rank))
		if err != nil {
			return err
		}
		for r := range size {
			if !bytes.Equal(all[r], bytes.Repeat([]byte{byte(r), byte(round)}, 1000*r)) {
				return fmt.Errorf("words of rank %d at rank %d differ", r, rank)
			}
		}
	}
	return nil
}

// stranger connects, says something that makes no sense, and leaves.
func stranger(t *testing.T, address string, words []byte) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(words); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStreamExchangeEnds: what does not come is given up when the context ends.
func TestStreamExchangeEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := collective.ListenExchange(ctx, l, 2); !errors.Is(err, reason) {
		t.Errorf("listen: %v", err)
	}
	if _, err := collective.DialExchange(ctx, "tcp", l.Addr().String(), 1); !errors.Is(err, reason) {
		t.Errorf("dial: %v", err)
	}
}
