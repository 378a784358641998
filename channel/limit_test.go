package channel

import (
	"errors"
	"fmt"
	"testing"

	"heddle/verbs/sim"
)

// TestPeerMemory: a peer that names a ring, or slots, for which more memory would
// be needed than Config.PeerMemory is refused, both sides are told, and nothing was
// made for it. The end that has the memory is the receiver, or of passive senders
// the sender.
func TestPeerMemory(t *testing.T) {
	large := Config{Slots: 1 << 10, Size: 4 << 10, Ring: 1 << 20, Linger: 1}
	small := Config{PeerMemory: 256 << 10, Slots: 1 << 10, Linger: 1}
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			cs, cr := small, large
			if kind.Family == ReadSlot || kind.Family == ReadRing {
				cs, cr = large, small
			}
			s, err := liveTransport(t).NewSender(kind, cs)
			must(t, err)
			defer func() { must(t, s.Close()) }()
			r, err := liveTransport(t).NewReceiver(kind, cr)
			must(t, err)
			defer func() { must(t, r.Close()) }()
			end := &s.end
			if kind.Family == ReadSlot || kind.Family == ReadRing {
				end = &r.end
			}
			before := end.Stats().Memory
			a, b := links(t)
			failed := make(chan error, 1)
			go func() { failed <- second(b.Attach(t.Context(), "x", r)) }()
			sent, received := second(a.Attach(t.Context(), "x", s)), <-failed
			if !errors.Is(sent, ErrLimit) || !errors.Is(received, ErrLimit) {
				t.Errorf("sender: %v; receiver: %v; want ErrLimit", sent, received)
			}
			var typed *LimitError
			if !errors.As(errors.Join(sent, received), &typed) || typed.Limit != 256<<10 || typed.Need <= typed.Limit {
				t.Errorf("%+v", typed)
			}
			if got := end.Stats().Memory; got != before {
				t.Errorf("%d bytes registered before, %d after", before, got)
			}
		})
	}
}

// TestHostileSizes: the largest ring and slots that a hello can name are refused as
// long as nobody has allowed for them.
func TestHostileSizes(t *testing.T) {
	for _, kind := range Kinds() {
		w := newWorld(t, sim.Config{})
		cfg := Config{Linger: 1}
		reads := kind.Family == ReadSlot || kind.Family == ReadRing
		var end interface {
			inviter
			Stats() Stats
			Close() error
		}
		var err error
		if reads {
			end, err = w.transport("end").NewReceiver(kind, cfg)
		} else {
			end, err = w.transport("end").NewSender(kind, cfg)
		}
		must(t, err)
		p, err := end.Invite()
		must(t, err)
		v := newVillain(w)
		all := remote{1 << 30, 1 << 48, 1}
		h := hello{
			kind: uint16(kind.Number), sends: reads, slots: maxSlots, size: maxRing / 2, ring: maxRing, salt: 1,
			endpoint: v.qp.Endpoint(), regions: []remote{all, all, all, all},
		}
		if reads { // all slots have as much as a ring at most
			h.size /= 1 << 6
		}
		want, before := regionsOf(kind), end.Stats().Memory
		h.regions = h.regions[:want]
		if err := p.Attach(t.Context(), h.bytes()); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v, want ErrLimit", kind.Name, err)
		}
		if got := end.Stats().Memory; got != before {
			t.Errorf("%s: %d bytes registered before, %d after", kind.Name, before, got)
		}
		must(t, end.Close())
	}
}

// regionsOf is how many regions a kind's hello has that says where its memory is.
func regionsOf(kind *Kind) int {
	switch kind.Name {
	case "fetch-bell", "cast-bell", "cast-send":
		return 2
	case "fetch-flag", "fetch-send", "cast-flag":
		return 3
	}
	return 4
}

// TestVerdict: what a peer is told of an error is the same error for it.
func TestVerdict(t *testing.T) {
	for _, want := range verdicts[1:] {
		if got := parseVerdict(verdictOf(fmt.Errorf("why: %w", want))); !errors.Is(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if err := parseVerdict(verdictOf(nil)); err != nil {
		t.Error(err)
	}
	for _, b := range [][]byte{{0}, {99, 'x'}, verdictOf(errNotice)} {
		if err := parseVerdict(b); !errors.Is(err, ErrInvalid) {
			t.Errorf("%x: %v", b, err)
		}
	}
}
