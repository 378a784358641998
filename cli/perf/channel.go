package perf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/channel"
	"heddle/verbs"
)

// request is what the end that begins asks for.
type request struct {
	Verbs   *Spec        `json:",omitempty"`
	Channel *ChannelSpec `json:",omitempty"`
}

// medium is what messages go over: at each end, channels or a socket.
type medium interface {
	// open makes it, with the other end.
	open() error
	// phase sends and takes messages for some time, or a few that are compared
	// where that is 0.
	phase(time.Duration) (measured, error)
	close() error
}

// RunChannel runs a test with the other end, which serves, and begins it.
func (l *Link) RunChannel(e *End, s ChannelSpec) (ChannelResult, error) {
	s, err := s.Filled()
	if err != nil {
		return ChannelResult{}, err
	}
	if err := l.send(request{Channel: &s}); err != nil {
		return ChannelResult{}, err
	}
	return l.channelTrial(e, s, true)
}

// serveChannel runs a test that the other end asks for.
func (l *Link) serveChannel(e *End, s ChannelSpec) error {
	s, err := s.Filled()
	if err != nil {
		return l.fail(err)
	}
	_, err = l.channelTrial(e, s, false)
	return err
}

func (l *Link) channelTrial(e *End, s ChannelSpec, first bool) (r ChannelResult, err error) {
	ctx, cancel := context.WithTimeoutCause(l.ctx, s.Timeout, fmt.Errorf("not done after %v", s.Timeout))
	defer cancel()
	var m medium = &channels{ChannelSpec: s, ctx: ctx, link: l, end: e, first: first}
	if s.socket() {
		m = &socket{ChannelSpec: s, ctx: ctx, link: l, first: first}
	}
	defer func() {
		if e := m.close(); err == nil {
			err = e
		}
	}()
	if err := m.open(); err != nil {
		return r, l.fail(fmt.Errorf("%s: %w", e.name, err))
	}
	var mine, theirs measured
	for i, d := range []time.Duration{0, s.Time / 4, s.Time} {
		if i == 2 {
			part(d)
		}
		if mine, err = m.phase(d); err != nil {
			return r, l.fail(fmt.Errorf("%s, %s: %w", e.name, s.Via, err))
		}
		if err := l.swap(mine, &theirs); err != nil {
			return r, l.fail(err)
		}
	}
	if !first {
		mine, theirs = theirs, mine
	}
	return s.result(mine, theirs)
}

// part keeps this end's processor busy for a while, as the other end does with
// its own: the ends have just woken each other, for which the system may have put
// both on one processor, and would leave them there as long as they sleep by
// turns.
func part(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < min(2*d, busy); {
		continue
	}
}

// busy is longer than what a system takes to see that a processor is idle.
const busy = 5 * time.Millisecond

// result puts what both ends say together.
func (s *ChannelSpec) result(first, second measured) (ChannelResult, error) {
	r := ChannelResult{
		ChannelSpec: *s, Times: first.Times, Allocs: max(first.Allocs, second.Allocs),
		Senders: first.Senders + second.Senders, Receivers: first.Receivers + second.Receivers,
	}
	if s.Test == Latency {
		r.Senders, r.Receivers = first.Senders, second.Receivers
		return r, nil
	}
	from, to := first, second
	if s.Test == Gather {
		from, to = second, first
	}
	if from.Messages != to.Messages {
		return r, fmt.Errorf("%d messages came, %d were sent", to.Messages, from.Messages)
	}
	if to.Elapsed > 0 {
		r.Rate = float64(to.Messages) / to.Elapsed.Seconds()
	}
	return r, nil
}

// channels are those of a test, at one end.
type channels struct {
	ChannelSpec
	ctx   context.Context
	link  *Link
	end   *End
	first bool

	kind *channel.Kind
	t    *channel.Transport
	outs []*outlet
	ins  []*inlet
	undo []func() error
	list []float64 // of ping

	idle verbs.CQ // in which nothing ever is
}

func (c *channels) open() (err error) {
	if c.kind, err = channel.Find(c.Via); err != nil {
		return err
	}
	if c.t, err = channel.NewTransport(c.end.dev, c.Assume...); err != nil {
		return err
	}
	c.undo = append(c.undo, c.t.Close)
	caps := c.t.Caps()
	if err := c.fits(&caps); err != nil {
		return err
	}
	if c.idle, err = c.end.dev.CreateCQ(verbs.CQAttr{Depth: 1}); err != nil {
		return err
	}
	c.undo = append(c.undo, c.idle.Close)
	if c.Test == Latency && c.first {
		c.list = make([]float64, 0, 1<<16)
	}
	for _, sends := range c.directions() {
		if err := c.join(sends); err != nil {
			return err
		}
	}
	return nil
}

// directions tell of each of them whether this end sends.
func (c *channels) directions() []bool {
	switch c.Test {
	case Latency:
		return []bool{c.first, !c.first}
	case Gather:
		return []bool{!c.first}
	default:
		return []bool{c.first}
	}
}

// join makes the channels of one direction.
func (c *channels) join(sends bool) error {
	makes := c.makeInlets
	if sends {
		makes = c.makeOutlets
	}
	peers, err := makes()
	if err != nil {
		return err
	}
	var ours, theirs [][]byte
	for _, p := range peers {
		ours = append(ours, p.Hello())
	}
	if err := c.link.swap(ours, &theirs); err != nil {
		return err
	}
	if len(theirs) != len(ours) {
		return fmt.Errorf("%d channels here, %d there: %w", len(ours), len(theirs), verbs.ErrInvalid)
	}
	for i, p := range peers {
		if err := p.Attach(c.ctx, theirs[i]); err != nil {
			return err
		}
	}
	return c.link.swap(struct{}{}, &struct{}{}) // all are
}

// merges tells whether all of a direction are one at this end.
func (c *channels) merges(sends bool) bool {
	return c.first && (sends && c.kind.Readers || !sends && c.kind.Senders)
}

// inviter is a sender or a receiver.
type inviter interface {
	Invite() (*channel.Peer, error)
}

// ends makes what this end has of one direction, and the peers of it.
func (c *channels) ends(sends bool, build func(channel.Config) (inviter, error)) (list []*channel.Peer, err error) {
	each, of := 1, c.Ends
	if c.merges(sends) {
		each, of = c.Ends, 1
	}
	for range of {
		e, err := build(c.config(each))
		if err != nil {
			return nil, err
		}
		for range each {
			p, err := e.Invite()
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	return list, nil
}

func (c *channels) makeOutlets() ([]*channel.Peer, error) {
	return c.ends(true, func(cfg channel.Config) (inviter, error) {
		s, err := c.t.NewSender(c.kind, cfg)
		if err != nil {
			return nil, err
		}
		c.undo = append(c.undo, s.Close)
		o := &outlet{s: s, size: c.Size, together: c.Together, number: uint64(len(c.outs)) << 32}
		if c.CopySend {
			o.own = make([]byte, c.Size)
		}
		c.outs = append(c.outs, o)
		return s, nil
	})
}

func (c *channels) makeInlets() ([]*channel.Peer, error) {
	return c.ends(false, func(cfg channel.Config) (inviter, error) {
		r, err := c.t.NewReceiver(c.kind, cfg)
		if err != nil {
			return nil, err
		}
		c.undo = append(c.undo, r.Close)
		in := &inlet{r: r, size: c.Size, sources: cfg.Peers, numbers: make([]uint64, cfg.Peers)}
		for i := range in.numbers {
			in.numbers[i] = uint64(c.source(i)) << 32
		}
		if c.CopyReceive {
			if err := c.own(in); err != nil {
				return nil, err
			}
		}
		c.ins = append(c.ins, in)
		return r, nil
	})
}

// source is the sender at the other end that is behind a peer of the receiver
// that is made next.
func (c *channels) source(peer int) int {
	if c.Test == Scatter && c.kind.Readers {
		return 0
	}
	return len(c.ins) + peer
}

// own makes the memory that a receiver's messages are to come to: a buffer, where
// the kind has ReceiveInto.
func (c *channels) own(in *inlet) (err error) {
	if _, err := in.r.ReceiveInto(c.ctx, nil, 0, 0); errors.Is(err, channel.ErrNotSupported) {
		in.own = make([]byte, c.Size)
		return nil
	}
	mem, err := verbs.NewMemory(c.Size)
	if err != nil {
		return err
	}
	c.undo = append(c.undo, mem.Close)
	if in.into, err = c.t.Register(mem); err != nil {
		return err
	}
	c.undo = append(c.undo, in.into.Close)
	in.own = mem.Bytes()[:c.Size]
	return nil
}

// close closes all, the newest first.
func (c *channels) close() error {
	var all []error
	for i := len(c.undo) - 1; i >= 0; i-- {
		all = append(all, c.undo[i]())
	}
	return errors.Join(all...)
}
