package replica

import (
	"fmt"

	"heddle/sm/store"
)

// followState is how far a session is with following its peer.
type followState struct {
	state followStep
	got   []byte         // of the batch that comes in parts
	at    store.Position // of that batch
}

type followStep uint8

const (
	followNot      followStep = iota
	followAsked               // the store keeps the promise to the leader's epoch
	followPromised            // the peer is to be told where to begin
	followFed                 // the peer sends
)

// considerFollowing begins to follow a peer that leads with the highest epoch
// that is known.
func (c *core) considerFollowing(s *session) {
	if !s.dialled || c.role == Leader {
		return
	}
	leads := s.said.role == Leader && s.said.epoch == c.epoch
	switch {
	case leads && s.follow.state == followNot:
		s.follow.state = followAsked
		c.effects = append(c.effects, effect{session: s, promise: c.epoch})
	case !leads:
		s.follow = followState{}
	}
}

// promised takes note that the store keeps the promise to an epoch.
func (c *core) promised(s *session, epoch uint64) {
	if s.follow.state == followAsked && epoch == c.epoch && !s.dropped {
		s.follow.state = followPromised
		c.wake(s)
	}
}

// part takes a part of a batch, which is kept when it is whole.
func (c *core) part(s *session, m *message) error {
	if !s.dialled {
		return fmt.Errorf("%w: a batch from who has to be fed", errPeer)
	}
	if s.follow.state != followFed { // it does not lead, or not any more
		c.counts.Refused++
		s.status = true // that tells it so
		c.wake(s)
		return nil
	}
	whole, err := s.follow.add(m, c.config.State)
	if err != nil || !m.last {
		return err
	}
	b, err := store.ParseBatch(whole)
	switch {
	case err != nil:
		return fmt.Errorf("%w: batch %v: %w", errPeer, m.at, err)
	case b.At != m.at || b.At.Epoch > c.epoch || !b.Reset && !b.At.Follows(c.last):
		return fmt.Errorf("%w: batch %v as %v, after %v in epoch %d", errPeer, b.At, m.at, c.last, c.epoch)
	}
	c.effects = append(c.effects, effect{session: s, keep: b, epoch: c.epoch})
	return nil
}

// add adds a part of a batch, and gives the whole with its last part.
func (f *followState) add(m *message, limit int) (whole []byte, err error) {
	switch {
	case len(f.got) > 0 && m.at != f.at:
		return nil, fmt.Errorf("%w: a part of %v within %v", errPeer, m.at, f.at)
	case len(f.got)+len(m.part) > limit:
		return nil, fmt.Errorf("%w: a state of more than %d bytes", errPeer, limit)
	}
	f.got, f.at = append(f.got, m.part...), m.at
	if m.last {
		whole, f.got = f.got, nil
	}
	return whole, nil
}
