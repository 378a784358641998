package channel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/verbs/sim"
)

var (
	update = flag.Bool("update", false, "write testdata/matrix.txt anew")
	seeds  = flag.Uint64("seeds", 4, "with how many seeds TestMatrix runs each kind on each profile")
)

// TestMatrix runs each kind on each profile. Where the device has what the kind
// needs, all messages come once, and in order where the kind says so; where an
// operation is missing the kind is refused; where an order is missing it is
// refused as well, and when it is forced messages are seen to go wrong, or the
// order was no need. What comes of each is held against testdata/matrix.txt.
func TestMatrix(t *testing.T) {
	var table strings.Builder
	for _, kind := range Kinds() {
		for _, profile := range sim.Profiles() {
			t.Run(kind.Name+"/"+profile.Name, func(t *testing.T) {
				fmt.Fprintf(&table, "%-16s %-12s %s\n", kind.Name, profile.Name, verdict(t, kind, profile))
			})
		}
	}
	if t.Failed() || len(flag.Lookup("test.run").Value.String()) > len("^TestMatrix$") {
		return // not all of it
	}
	name := filepath.Join("testdata", "matrix.txt")
	if *update {
		if err := os.WriteFile(name, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table.String()); diff != "" {
		t.Errorf("%s differs (-want +got); see -update:\n%s", name, diff)
	}
}

// verdict is what comes of a kind on a profile.
func verdict(t *testing.T, kind *Kind, profile sim.Profile) string {
	caps := profile.Caps()
	refusal := kind.Missing(&caps)
	if refusal == nil {
		for seed := range *seeds {
			if fault := newTrial(t, kind, profile, seed, false).run(); fault != "" {
				t.Fatalf("seed %d: %s", seed, fault)
			}
		}
		return "delivers"
	}
	tr := newWorld(t, sim.Config{Profile: profile}).transport("refused")
	for _, err := range []error{second(tr.NewSender(kind, Config{})), second(tr.NewReceiver(kind, Config{}))} {
		var got *Refusal
		if !errors.As(err, &got) || *got != *refusal || !errors.Is(err, ErrNotSupported) {
			t.Fatalf("%v, want the refusal: %v", err, refusal)
		}
	}
	if refusal.Order == 0 {
		return "refused: " + refusal.Error()
	}
	return "refused: " + refusal.Error() + bites(t, kind, profile)
}

func second[T any](_ T, err error) error { return err }

// bites forces a kind on a profile that lacks an order, until messages go wrong.
func bites(t *testing.T, kind *Kind, profile sim.Profile) string {
	const most = 200
	for seed := range uint64(most) {
		if fault := newTrial(t, kind, profile, seed, true).run(); fault != "" {
			t.Logf("forced, seed %d: %s", seed, fault)
			return "; forced, messages go wrong"
		}
	}
	t.Errorf("forced, %d trials went well: the order is no need", most)
	return ""
}

// trial is a channel with all its ends on a simulated network, of one goroutine.
type trial struct {
	*world
	kind      *Kind
	messages  uint64 // that each sender sends
	moved     time.Time
	senders   []*Sender
	receivers []*Receiver
	sent      []uint64    // by sender
	next      [][]uint64  // by receiver and sender: the number that comes next
	came      []uint64    // by receiver
	held      [][]Message // by receiver
	size      int         // of the longest message
	killAt    int         // the turn in which a device dies; 0 for none
	dead      string      // its name
	left      error       // what was still in use of devices that were closed
}

// many is how many ends there are on the side that may have many.
const many = 3

func newTrial(t testing.TB, kind *Kind, profile sim.Profile, seed uint64, force bool) *trial {
	t.Helper()
	var faults sim.Faults
	if !force && seed%2 == 1 {
		faults = sim.Faults{Loss: 0.02, Duplicate: 0.02}
	}
	w := newWorld(t, sim.Config{Profile: profile, Seed: seed, Faults: faults})
	// Messages of several packets, where the network has them.
	size := min(3*profile.MTU.Bytes(), profile.Caps().MaxMessage) - 64
	return w.trial(kind, Config{Slots: 4, Size: size, Ring: 8 * profile.MTU.Bytes(), Peers: many, Force: force, Stall: time.Millisecond}, 120)
}

// trial makes one whose senders send so many messages each.
func (w *world) trial(kind *Kind, cfg Config, messages uint64) *trial {
	t := w.t
	t.Helper()
	x := &trial{world: w, kind: kind, messages: messages, moved: time.Now()}
	senders, receivers := 1, 1
	if kind.Senders {
		senders = many
	}
	if kind.Readers {
		receivers = many
	}
	for i := range senders {
		s, err := w.transport(fmt.Sprint("s", i)).NewSender(kind, cfg)
		if err != nil {
			t.Fatal(err)
		}
		x.senders = append(x.senders, s)
	}
	for i := range receivers {
		r, err := w.transport(fmt.Sprint("r", i)).NewReceiver(kind, cfg)
		if err != nil {
			t.Fatal(err)
		}
		x.receivers = append(x.receivers, r)
		x.next = append(x.next, make([]uint64, senders))
	}
	x.sent, x.came, x.held = make([]uint64, senders), make([]uint64, receivers), make([][]Message, receivers)
	for _, s := range x.senders {
		for _, r := range x.receivers {
			if err := Join(t.Context(), s, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	x.size = min(x.senders[0].MaxMessage(), cfg.Size)
	return x
}

// run sends, receives, gives back and lets the network go on, in an order that
// the seed decides, until all has come. It tells what went wrong.
func (x *trial) run() (fault string) {
	defer x.close()
	for turn, idle := 1, 0; ; turn, idle = turn+1, idle+1 {
		if turn == x.killAt {
			x.kill()
		}
		if x.dead != "" {
			if x.isDone() && len(x.senders)+len(x.receivers) > 2 || idle == 20_000 {
				return x.survived()
			}
		} else if x.isDone() {
			return x.end()
		}
		if x.isStuck(idle) {
			return fmt.Sprintf("sent %d, came %d, and nothing more happens", x.sent, x.came)
		}
		moved, fault := x.turn()
		if fault != "" {
			return fault
		}
		if moved {
			idle, x.moved = 0, time.Now()
		}
	}
}

// isDone tells whether all has come of who lives to who lives.
func (x *trial) isDone() bool {
	for i := range x.receivers {
		for j := range x.senders {
			if x.isAlive("r", i) && x.isAlive("s", j) && x.next[i][j] < x.messages {
				return false
			}
		}
	}
	return true
}

// isStuck tells whether nothing has happened for so many turns, or so long, that
// nothing will.
func (x *trial) isStuck(idle int) bool {
	if x.net != nil {
		return idle == 100_000
	}
	return idle%1000 == 999 && time.Since(x.moved) > patience
}

// turn does one thing.
func (x *trial) turn() (moved bool, fault string) {
	switch x.rnd.IntN(5) {
	case 0, 1:
		return x.send(x.rnd.IntN(len(x.senders)))
	case 2:
		return x.receive(x.rnd.IntN(len(x.receivers)))
	case 3:
		x.release(x.rnd.IntN(len(x.receivers)))
	case 4:
		x.step()
	}
	return false, ""
}

// send sends the next message of a sender, if there is room.
func (x *trial) send(i int) (moved bool, fault string) {
	if x.sent[i] == x.messages || !x.isAlive("s", i) {
		return false, ""
	}
	n := header + x.rnd.IntN(x.size-header+1)
	l, err := x.senders[i].TryReserve(n + x.rnd.IntN(x.size-n+1))
	if errors.Is(err, ErrWouldBlock) {
		return false, ""
	}
	if err == nil && x.rnd.IntN(16) == 0 {
		l.Abort()
		return true, ""
	}
	if err == nil {
		x.fill(l.Bytes()[:n], i, x.sent[i])
		commit := l.Commit
		if x.senders[i].batch != nil && x.sent[i]+1 < x.messages && x.rnd.IntN(3) == 0 {
			commit = l.CommitMore
		}
		err = commit(n)
	}
	if err != nil {
		return false, x.fault("sender", i, err)
	}
	x.sent[i]++
	return true, ""
}

// header is what a message of a trial begins with: its sum, sender, number and
// length.
const header = 4 + 4 + 8 + 4

func (x *trial) fill(b []byte, sender int, number uint64) {
	copy(b[header:], x.payload(number, len(b)-header))
	binary.LittleEndian.PutUint32(b[4:], uint32(sender))
	binary.LittleEndian.PutUint64(b[8:], number)
	binary.LittleEndian.PutUint32(b[16:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// receive takes the next message of a receiver.
func (x *trial) receive(i int) (moved bool, fault string) {
	if !x.isAlive("r", i) {
		return false, ""
	}
	m, err := x.receivers[i].TryReceive()
	if errors.Is(err, ErrWouldBlock) {
		return false, ""
	}
	if err != nil {
		return false, x.fault("receiver", i, err)
	}
	x.held[i] = append(x.held[i], m)
	x.came[i]++
	if fault := x.check(i, m.Bytes()); fault != "" {
		return false, fmt.Sprintf("receiver %d, message %d: %s", i, x.came[i], fault)
	}
	return true, ""
}

// check looks at a message as it is when it has come.
func (x *trial) check(i int, b []byte) string {
	b = bytes.Clone(b)
	if len(b) < header || int(binary.LittleEndian.Uint32(b[16:])) != len(b) || binary.LittleEndian.Uint32(b) != crc32.ChecksumIEEE(b[4:]) {
		return fmt.Sprintf("%d bytes that nobody sent", len(b))
	}
	sender, number := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
	next := &x.next[i][sender]
	if number != *next && x.inOrder() {
		return fmt.Sprintf("number %d of sender %d, want %d", number, sender, *next)
	}
	*next++
	return ""
}

// inOrder tells whether messages of a sender come in the order in which they were
// sent.
func (x *trial) inOrder() bool {
	return !x.kind.AsDelivered || x.senders[0].t.caps.DeliveryOrder.Holds
}

// release gives one of the messages back that a receiver holds.
func (x *trial) release(i int) {
	if n := len(x.held[i]); n > 0 {
		j := x.rnd.IntN(n)
		x.held[i][j].Release()
		x.held[i] = append(x.held[i][:j], x.held[i][j+1:]...)
	}
}

// end gives all back, and sees to it that nothing more comes.
func (x *trial) end() string {
	for i := range x.held {
		for len(x.held[i]) > 0 {
			x.release(i)
		}
	}
	for range 200 {
		x.step()
		for i, r := range x.receivers {
			if m, err := r.TryReceive(); err == nil {
				return fmt.Sprintf("receiver %d: one more message, of %d bytes", i, len(m.Bytes()))
			}
		}
	}
	return ""
}

func (x *trial) close() {
	for _, s := range x.senders {
		s.cfg.Linger = 1
		_ = s.Close()
	}
	for _, r := range x.receivers {
		_ = r.Close()
	}
	if x.net != nil {
		x.left = x.closeDevices()
		_ = x.net.Close()
	}
}
