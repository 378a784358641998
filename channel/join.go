package channel

import (
	"context"
	"errors"
)

// Join makes a sender and a receiver of one process each other's peer.
func Join(ctx context.Context, s *Sender, r *Receiver) error {
	there, err := s.Invite()
	if err != nil {
		return err
	}
	back, err := r.Invite()
	if err != nil {
		return errors.Join(err, there.Close())
	}
	// Devices may wait for each other to connect.
	failed := make(chan error)
	go func() { failed <- there.Attach(ctx, back.Hello()) }()
	err = errors.Join(back.Attach(ctx, there.Hello()), <-failed)
	if err != nil {
		return errors.Join(err, there.Close(), back.Close())
	}
	return nil
}
