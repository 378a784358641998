package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"heddle/sm/store"
)

// Store is what a node keeps its state in; *store.Store is one.
type Store interface {
	Commit(ctx context.Context, b *store.Batch, done func(store.Result)) error
	Follow(ctx context.Context, epoch uint64, b *store.Batch, done func(store.Result)) error
	Promise(ctx context.Context, epoch uint64, done func(store.Result)) error
	Sync(ctx context.Context) error
	Last() store.Position
	Position() store.Position
	Promised() uint64
	Copy() (*store.Batch, error)
}

// Config is how a node works. Zero means the default where there is one.
type Config struct {
	// ID is this node's, 1 to 65535, and no other node's.
	ID uint16
	// Secret is what all nodes know and nobody else: at least MinSecret random
	// bytes.
	Secret []byte
	// Peers are the addresses of the other nodes.
	Peers []string
	// Dial makes a connection to a peer; TCP by default.
	Dial func(ctx context.Context, address string) (net.Conn, error)

	// Wait is how many followers must have a batch for good before it is
	// acknowledged; 0 for none. Where they have not after WaitLimit, one second
	// by default, the batch is acknowledged all the same, or with Strict given
	// ErrNotReplicated.
	Wait      int
	WaitLimit time.Duration
	Strict    bool

	// Heartbeat is how often a node says that it is there, one second by
	// default; Dead after how long without a word a connection is given up, five
	// heartbeats by default.
	Heartbeat, Dead time.Duration
	// MinBackoff and MaxBackoff are how long a node waits before it dials again:
	// 100 ms, doubled each time up to 10 s, by default.
	MinBackoff, MaxBackoff time.Duration
	// Log is how many bytes of batches are kept for followers that were away,
	// 16 MiB by default; State how many the whole state may have, 1 GiB.
	Log, State int

	// Deposed is told, by one goroutine, that another node leads with a higher
	// epoch.
	Deposed func(epoch uint64)
	Logger  *slog.Logger
}

func (c Config) filled() (Config, error) {
	c.WaitLimit = cmp.Or(c.WaitLimit, time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, time.Second)
	c.Dead = cmp.Or(c.Dead, 5*c.Heartbeat)
	c.MinBackoff = cmp.Or(c.MinBackoff, 100*time.Millisecond)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, max(10*time.Second, c.MinBackoff))
	c.Log = cmp.Or(c.Log, 16<<20)
	c.State = cmp.Or(c.State, 1<<30)
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	if c.Deposed == nil {
		c.Deposed = func(uint64) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, c.check()
}

func (c *Config) check() error {
	switch {
	case c.ID == 0:
		return errors.New("replica: no ID: each manager needs one of its own, 1 to 65535")
	case len(c.Secret) < MinSecret:
		return fmt.Errorf("replica: secret of %d bytes: want at least %d random ones", len(c.Secret), MinSecret)
	case c.Wait < 0 || c.Wait > len(c.Peers):
		return fmt.Errorf("replica: wait for %d followers of %d peers", c.Wait, len(c.Peers))
	case min(c.WaitLimit, c.Heartbeat, c.MinBackoff) < 0 || c.Dead < c.Heartbeat || c.MaxBackoff < c.MinBackoff:
		return errors.New("replica: time limits below zero, or out of order")
	case min(c.Log, c.State) < 0:
		return errors.New("replica: sizes below zero")
	}
	return nil
}
