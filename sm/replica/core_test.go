package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/sm/store"
)

// bench drives a core by hand.
type bench struct {
	*testing.T
	*core
	now     time.Time
	results []store.Result
}

func newBench(t *testing.T, config Config) *bench {
	t.Helper()
	s := store.InMemory(store.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	config.ID, config.Secret, config.Peers = 1, testSecret, []string{"a", "b"}
	config, err := config.filled()
	if err != nil {
		t.Fatal(err)
	}
	return &bench{T: t, core: newCore(config, s), now: time.Unix(1000, 0)}
}

// peer opens a session whose peer has said hello.
func (b *bench) peer(id uint16, dialled bool, role Role, epoch uint64) *session {
	s := b.open(b.now, id, dialled)
	b.receive(b.now, s, &message{kind: kindHello, role: role, epoch: epoch})
	b.sent(s)
	return s
}

// sent takes all that a session has to send.
func (b *bench) sent(s *session) (messages []message) {
	for {
		m, ok := b.next(s)
		if !ok {
			return messages
		}
		messages = append(messages, m)
	}
}

// batch lets the leader commit one.
func (b *bench) batch() store.Position {
	at := store.Position{Index: b.last.Index + 1, Epoch: b.epoch}
	b.committed(b.now, &store.Batch{At: at}, func(r store.Result) { b.results = append(b.results, r) })
	return at
}

// acknowledged gives the results since the last call.
func (b *bench) acknowledged() []store.Result {
	for _, a := range b.answers {
		a.done(a.result)
	}
	results := b.results
	b.answers, b.results = nil, nil
	return results
}

// dropped gives why a session was given up, nil where it was not.
func (b *bench) dropped(s *session) error {
	for _, e := range b.effects {
		if e.session == s && e.drop != nil {
			return e.drop
		}
	}
	return nil
}

func (b *bench) mustLead(epoch uint64) {
	b.Helper()
	if !b.lead(epoch) {
		b.Fatalf("does not lead in epoch %d", epoch)
	}
}

func TestAcknowledgedWhenKept(t *testing.T) {
	b := newBench(t, Config{Wait: 1})
	b.mustLead(5)
	s := b.peer(2, false, Follower, 5)
	b.receive(b.now, s, &message{kind: kindFollow})
	at := b.batch()
	b.sent(s)
	b.receive(b.now, s, &message{kind: kindAck, at: at})
	if got := b.acknowledged(); got != nil {
		t.Errorf("before the leader keeps it: %v", got)
	}
	b.stored(b.now, at)
	want := []store.Result{{At: at, Followers: 1}}
	if diff := cmp.Diff(want, b.acknowledged()); diff != "" {
		t.Errorf("results:\n%s", diff)
	}
}

func TestStoreThatFails(t *testing.T) {
	b := newBench(t, Config{})
	b.mustLead(5)
	b.batch()
	full := errors.New("disk is full")
	b.failed(full)
	if got := b.acknowledged(); len(got) != 1 || !errors.Is(got[0].Err, full) || b.role != Follower {
		t.Errorf("results %v, role %v", got, b.role)
	}
}

func TestOnlyTheHighestEpochIsFollowed(t *testing.T) {
	b := newBench(t, Config{})
	newer := b.peer(3, true, Leader, 7)
	old := b.peer(2, true, Leader, 5)
	if newer.follow.state != followAsked || old.follow.state != followNot {
		t.Fatalf("following the newer %d, the old %d", newer.follow.state, old.follow.state)
	}
	b.promised(newer, 7)
	want := []message{{kind: kindFollow}}
	if diff := cmp.Diff(want, b.sent(newer), sameMessage); diff != "" {
		t.Errorf("to the newer:\n%s", diff)
	}
	// A part of a leader that is not followed is refused, and it is told why.
	part := &message{kind: kindPart, at: store.Position{Index: 1, Epoch: 5}, last: true, part: (&store.Batch{At: store.Position{Index: 1, Epoch: 5}}).AppendTo(nil)}
	b.receive(b.now, old, part)
	if told := b.sent(old); b.counts.Refused != 1 || len(told) != 1 || told[0].epoch != 7 {
		t.Errorf("%d refused, told %+v", b.counts.Refused, told)
	}
	// And so is one of the newer, once there is one that is newer still.
	b.peer(2, false, Follower, 9)
	b.receive(b.now, newer, part)
	if b.counts.Refused != 2 || newer.follow.state != followNot {
		t.Errorf("%d refused, following %d", b.counts.Refused, newer.follow.state)
	}
}

// TestPromiseOfBefore is of no use once a higher epoch was seen.
func TestPromiseOfBefore(t *testing.T) {
	b := newBench(t, Config{})
	s := b.peer(2, true, Leader, 5)
	b.peer(3, false, Follower, 6)
	b.promised(s, 5)
	for _, m := range b.sent(s) {
		if m.kind == kindFollow {
			t.Errorf("follows: %+v", m)
		}
	}
}

// TestAckComesAfterFollow leaves out one that was due before.
func TestAckComesAfterFollow(t *testing.T) {
	b := newBench(t, Config{})
	s := b.peer(2, true, Leader, 5)
	b.promised(s, 5)
	b.sent(s)
	b.stored(b.now, store.Position{Index: 4, Epoch: 4})
	b.receive(b.now, s, &message{kind: kindStatus, role: Leader, epoch: 6})
	b.promised(s, 6)
	for _, m := range b.sent(s) {
		if m.kind == kindAck {
			t.Errorf("ack %v", m.at)
		}
	}
}

// TestAckOfAnotherHistory does not count: the follower has not got the state.
func TestAckOfAnotherHistory(t *testing.T) {
	b := newBench(t, Config{Wait: 1})
	b.mustLead(5)
	for range 3 {
		b.stored(b.now, b.batch())
	}
	s := b.peer(2, false, Follower, 5)
	b.receive(b.now, s, &message{kind: kindFollow, at: store.Position{Index: 2, Epoch: 4}})
	if !s.feed.copying {
		t.Fatal("it is not sent the state")
	}
	b.copied(s, b.last, (&store.Batch{At: b.last, Reset: true}).AppendTo(nil))
	b.receive(b.now, s, &message{kind: kindAck, at: store.Position{Index: 2, Epoch: 4}})
	if got := b.acknowledged(); got != nil {
		t.Errorf("acknowledged: %v", got)
	}
	b.sent(s)
	b.receive(b.now, s, &message{kind: kindAck, at: b.last})
	if got := b.acknowledged(); len(got) != 3 || got[2].Followers != 1 {
		t.Errorf("with the state: %v", got)
	}
}

// TestLogForgets sends the state to one who was slower than the log is long.
func TestLogForgets(t *testing.T) {
	b := newBench(t, Config{Log: 30})
	b.mustLead(5)
	s := b.peer(2, false, Follower, 5)
	b.receive(b.now, s, &message{kind: kindFollow})
	b.batch()
	if sent := b.sent(s); len(sent) != 1 || sent[0].kind != kindPart {
		t.Fatalf("sent %+v", sent)
	}
	for range 20 {
		b.batch()
	}
	if sent := b.sent(s); len(sent) != 0 || !s.feed.copying {
		t.Errorf("sent %+v, copying %v", sent, s.feed.copying)
	}
	if b.log.bytes > 30 {
		t.Errorf("the log has %d bytes", b.log.bytes)
	}
}

func TestStateThatIsTooLarge(t *testing.T) {
	b := newBench(t, Config{State: 100})
	s := b.peer(2, true, Leader, 5)
	b.promised(s, 5)
	b.sent(s)
	for range 3 {
		b.receive(b.now, s, &message{kind: kindPart, at: store.Position{Index: 1, Epoch: 5}, part: make([]byte, 40)})
	}
	if err := b.dropped(s); !errors.Is(err, errPeer) {
		t.Errorf("dropped for %v", err)
	}
}

func TestPartsThatDoNotFit(t *testing.T) {
	at := func(index, epoch uint64) store.Position { return store.Position{Index: index, Epoch: epoch} }
	encoded := func(b store.Batch) []byte { return b.AppendTo(nil) }
	tests := []struct {
		name  string
		parts []message
	}{
		{"nonsense", []message{{at: at(1, 5), last: true, part: []byte{99}}}},
		{"another place than it says", []message{{at: at(1, 5), last: true, part: encoded(store.Batch{At: at(2, 5)})}}},
		{"gap", []message{{at: at(2, 5), last: true, part: encoded(store.Batch{At: at(2, 5)})}}},
		{"epoch to come", []message{{at: at(1, 6), last: true, part: encoded(store.Batch{At: at(1, 6)})}}},
		{"two within each other", []message{{at: at(1, 5), part: []byte{1}}, {at: at(2, 5), part: []byte{1}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, Config{})
			s := b.peer(2, true, Leader, 5)
			b.promised(s, 5)
			b.sent(s)
			for _, m := range test.parts {
				m.kind = kindPart
				b.receive(b.now, s, &m)
			}
			if err := b.dropped(s); !errors.Is(err, errPeer) {
				t.Errorf("dropped for %v", err)
			}
			for _, e := range b.effects {
				if e.keep != nil {
					t.Errorf("kept %v", e.keep.At)
				}
			}
		})
	}
}

func TestNextEpoch(t *testing.T) {
	second := uint64(1) << epochBits
	tests := []struct {
		seen uint64
		now  int64
		id   uint16
		want uint64
	}{
		{0, 0, 3, 3},
		{3, 0, 3, second + 3},
		{3, 0, 2, second + 2},
		{2, 0, 3, 3},
		{5, 1000, 3, 1000*second + 3},
		{2000*second + 7, 1000, 3, 2001*second + 3},
		{0, -5, 3, 3},
	}
	for _, test := range tests {
		if got := nextEpoch(test.seen, time.Unix(test.now, 0), test.id); got != test.want {
			t.Errorf("after %d at %d for %d: %d, want %d", test.seen, test.now, test.id, got, test.want)
		}
	}
}

// TestNewConnectionOfAPeer replaces the one that it lost, and its acks count
// once.
func TestNewConnectionOfAPeer(t *testing.T) {
	b := newBench(t, Config{Wait: 2})
	b.mustLead(5)
	at := b.batch()
	b.stored(b.now, at)
	lost := b.peer(2, false, Follower, 5)
	other := b.peer(2, true, Follower, 5)
	var sessions []*session
	for _, s := range []*session{lost, b.peer(2, false, Follower, 5)} {
		b.receive(b.now, s, &message{kind: kindFollow})
		b.sent(s)
		b.receive(b.now, s, &message{kind: kindAck, at: at})
		sessions = append(sessions, s)
	}
	if b.dropped(sessions[0]) == nil || b.dropped(sessions[1]) != nil || b.dropped(other) != nil {
		t.Error("not the lost connection is given up")
	}
	if got := b.acknowledged(); got != nil {
		t.Errorf("acknowledged with one follower: %v", got)
	}
}
