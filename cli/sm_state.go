package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"heddle/sm"
	"heddle/sm/replica"
	"heddle/sm/store"

	"github.com/spf13/cobra"
)

// stateFlags say where a manager keeps its state, and with whom.
type stateFlags struct {
	file, listen, secret string
	id                   uint16
	peers                []string
	wait                 int
}

func (f *stateFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "state", "", "`FILE` of what the manager must still know after its death; without it nothing is kept")
	flags.Uint16Var(&f.id, "replica-id", 0, "number of this manager among those that share their state, 1 to 65535")
	flags.StringVar(&f.listen, "replica-listen", "", "`ADDRESS` for the others to connect to, such as :6111")
	flags.StringSliceVar(&f.peers, "replica-peers", nil, "`ADDRESS`es of the others")
	flags.StringVar(&f.secret, "replica-secret", "", "`FILE` of what all of them know and nobody else: random, at least 16 bytes")
	flags.IntVar(&f.wait, "replica-wait", 0, "how many of them must have a join before it is answered")
}

func (f *stateFlags) check() error {
	replicated := f.id != 0 || f.listen != "" || len(f.peers) > 0 || f.secret != "" || f.wait != 0
	switch {
	case !replicated:
		return nil
	case f.file == "":
		return usagef("--replica-... need a --state FILE")
	case f.id == 0 || f.secret == "":
		return usagef("managers that share their state need a --replica-id and a --replica-secret")
	case f.wait < 0 || f.wait > len(f.peers):
		return usagef("--replica-wait %d: there are %d peers", f.wait, len(f.peers))
	default:
		return nil
	}
}

// state is what stateFlags opened.
type state struct {
	store   *store.Store
	cancel  context.CancelFunc
	running sync.WaitGroup
	ended   error // of the node; after running
}

// open opens the state and gives it to a configuration.
func (f *stateFlags) open(cfg *sm.Config) (*state, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	s := &state{cancel: func() {}}
	if f.file == "" {
		return s, nil
	}
	aside, err := store.SetAside(f.file)
	if err != nil {
		return nil, err
	}
	for _, name := range aside {
		cfg.Log.Warn("state that was damaged lies aside", "file", name)
	}
	if s.store, err = store.Open(f.file, store.Options{}); err != nil {
		return nil, err
	}
	cfg.Store = s.store
	if f.id == 0 {
		return s, nil
	}
	if err := f.replicate(s, cfg); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	return s, nil
}

// replicate starts a node that shares the state with others.
func (f *stateFlags) replicate(s *state, cfg *sm.Config) error {
	secret, err := os.ReadFile(f.secret)
	if err != nil {
		return err
	}
	node, err := replica.New(s.store, replica.Config{
		ID: f.id, Secret: bytes.TrimSpace(secret), Peers: f.peers, Wait: f.wait, Logger: cfg.Log,
	})
	if err != nil {
		return fmt.Errorf("replica: %w", err)
	}
	var listener net.Listener
	if f.listen != "" {
		if listener, err = net.Listen("tcp", f.listen); err != nil {
			return fmt.Errorf("replica: %w", err)
		}
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.running.Go(func() {
		if err := node.Run(ctx, listener); ctx.Err() == nil {
			s.ended = err
		}
	})
	cfg.Memory = node
	return nil
}

// close ends the node and closes the file.
func (s *state) close() error {
	s.cancel()
	s.running.Wait()
	if s.store == nil {
		return nil
	}
	return errors.Join(s.ended, s.store.Close())
}
