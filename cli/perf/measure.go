package perf

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"slices"
	"time"
)

// measured is what an end has to say of a test.
type measured struct {
	Times   Times
	Elapsed time.Duration // that a stream took
	Allocs  uint64
	Checked int

	// Of channels: the messages, and what senders and receivers registered.
	Messages, Senders, Receivers int `json:",omitempty"`
}

// Times are of messages, in microseconds. Where several were timed together, each
// has the mean of those.
type Times struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"`
}

// timesOf sorts the list, of nanoseconds.
func timesOf(list []float64) Times {
	if len(list) == 0 {
		return Times{}
	}
	slices.Sort(list)
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	at := func(part float64) float64 { return list[min(int(part*float64(len(list))), len(list)-1)] / 1e3 }
	return Times{at(0), at(0.5), at(0.99), at(1), sum / float64(len(list)) / 1e3}
}

// allocations counts what a process has allocated so far.
func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func (t *trial) measure() (m measured, err error) {
	switch {
	case t.Op.Reads() && !t.first:
		return m, nil
	case t.Test == Wake && t.first:
		err = t.rouse()
	case t.Test == Wake:
		m.Times, err = t.sleep()
	case t.Test == Stream:
		m.Elapsed, m.Allocs, err = t.stream()
	default:
		m.Times, m.Allocs, err = t.latency()
	}
	m.Checked = t.checked
	return m, err
}

// turn is a round trip, or an operation that brings something.
func (t *trial) turn(i int) error {
	switch {
	case t.Op.Reads():
		if err := t.sender.send(i); err != nil {
			return err
		}
		return t.sender.reap()
	case t.first:
		if err := t.sender.send(i); err != nil {
			return err
		}
		return t.take(i)
	default:
		if err := t.take(i); err != nil {
			return err
		}
		return t.sender.send(i)
	}
}

func (t *trial) latency() (Times, uint64, error) {
	for i := range t.Warmup {
		if err := t.turn(i); err != nil {
			return Times{}, 0, err
		}
	}
	ways := 2.0
	if t.Op.Reads() {
		ways = 1
	}
	list := make([]float64, 0, t.Iters/t.Batch)
	before := allocations()
	for i := 0; i < t.Iters; i += t.Batch {
		start := time.Now()
		for j := range t.Batch {
			if err := t.turn(t.Warmup + i + j); err != nil {
				return Times{}, 0, err
			}
		}
		list = append(list, float64(time.Since(start))/ways/float64(t.Batch))
	}
	return timesOf(list), (allocations() - before) / uint64(t.Iters), nil
}

// stream sends messages, or takes them, which is timed.
func (t *trial) stream() (elapsed time.Duration, allocs uint64, err error) {
	part := t.takeAll
	switch {
	case t.Op.Reads():
		part = t.fetchAll
	case t.first:
		part = t.sendAll
	}
	if err := part(0, t.Warmup); err != nil {
		return 0, 0, err
	}
	before, start := allocations(), time.Now()
	if err := part(t.Warmup, t.Warmup+t.Iters); err != nil {
		return 0, 0, err
	}
	elapsed = time.Since(start)
	if t.first && !t.Op.Reads() {
		elapsed = 0
	}
	return elapsed, (allocations() - before) / uint64(t.Iters), nil
}

// sendAll sends messages from one number up to another.
func (t *trial) sendAll(from, to int) error {
	for i := from; i < to; {
		n := min(t.Chain, to-i)
		if err := t.room(i + n); err != nil {
			return err
		}
		if err := t.sender.room(n); err != nil {
			return err
		}
		for j := range n {
			t.sender.fill(&t.sender.wrs[j], i+j)
		}
		if err := t.sender.post(t.sender.wrs[:n]); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// room waits until there are slots for so many messages since the beginning.
func (t *trial) room(to int) error {
	if !t.polled() || to-t.taken <= t.slots {
		return nil
	}
	t.want.room = to
	for n := 1; ; n++ {
		for range looks {
			if t.taken = t.told(); to-t.taken <= t.slots {
				return nil
			}
		}
		if err := t.yield(n); err != nil {
			return err
		}
	}
}

// takeAll takes them.
func (t *trial) takeAll(from, to int) error {
	some := max(1, t.slots/4)
	for i := from; i < to; i++ {
		if err := t.take(i); err != nil {
			return err
		}
		if t.polled() && ((i+1)%some == 0 || i+1 == to) {
			if err := t.sender.tell(i + 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetchAll has so many operations under way as there may be.
func (t *trial) fetchAll(from, to int) error {
	if err := t.sendAll(from, to); err != nil {
		return err
	}
	for t.sender.done < t.sender.posted {
		if err := t.sender.reap(); err != nil {
			return err
		}
	}
	return nil
}

// pause is after how long a receiver is asleep for sure.
const pause = 200 * time.Microsecond

// rouse sends each message, with the time in it, when the receiver sleeps.
func (t *trial) rouse() error {
	for i := range t.Warmup + t.Iters {
		for start := time.Now(); time.Since(start) < pause; {
			continue // asleep, this end would be timed as well
		}
		stamp := t.message(t.out(i))
		binary.LittleEndian.PutUint64(stamp[wakeSize-wordSize:], uint64(i+1))
		binary.LittleEndian.PutUint64(stamp, uint64(time.Now().UnixNano()))
		if err := t.sender.send(i); err != nil {
			return err
		}
		if err := t.take(i); err != nil {
			return err
		}
	}
	return nil
}

// sleep waits for messages asleep, and answers.
func (t *trial) sleep() (Times, error) {
	t.Events = true
	list := make([]float64, 0, t.Iters)
	for i := range t.Warmup + t.Iters {
		if err := t.take(i); err != nil {
			return Times{}, err
		}
		now := time.Now().UnixNano()
		sent := binary.LittleEndian.Uint64(t.message(t.in(i)))
		if i >= t.Warmup {
			list = append(list, float64(now-int64(sent)))
		}
		if err := t.sender.send(i); err != nil {
			return Times{}, err
		}
	}
	return timesOf(list), nil
}

// Result is what came out, of both ends together.
type Result struct {
	Spec
	// First and Second are the ends, First the one that began.
	First, Second string
	Times         Times
	// Rate is messages a second of a stream, 0 of other tests.
	Rate float64
	// Allocs is how often an end allocated for an operation, of the end that did
	// so more often.
	Allocs  uint64
	Checked int // messages, by both
}

// Bandwidth is bytes a second of a stream.
func (r *Result) Bandwidth() float64 { return r.Rate * float64(r.Size) }

func (t *trial) result(first, second measured) Result {
	r := Result{
		Spec: t.Spec, First: t.end.name, Second: t.peer.Name, Times: first.Times,
		Allocs: max(first.Allocs, second.Allocs), Checked: first.Checked + second.Checked,
	}
	if !t.first {
		r.First, r.Second = r.Second, r.First
	}
	if t.Test == Wake {
		r.Times = second.Times
	}
	if elapsed := cmp.Or(first.Elapsed, second.Elapsed); elapsed > 0 {
		r.Rate = float64(t.Iters) / elapsed.Seconds()
	}
	return r
}
