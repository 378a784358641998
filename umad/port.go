package umad

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// Port is one port of a node that asks and answers. All methods may be called
// by many goroutines at once. Handlers and the done functions of Start run on
// the port's own goroutines, one after another: they must not wait for an
// answer, nor call Close; they may call Start and Send.
type Port struct {
	dev      Device
	features Features
	began    time.Time // 0 for RMPP
	counters counters

	closing  sync.Once
	closeErr error          // set within closing
	stop     chan struct{}  // closed by Close
	wake     chan struct{}  // holds one: a deadline before the one waited for
	running  sync.WaitGroup // the two goroutines

	registering sync.Mutex // held over calls of dev.Register

	calling sync.Mutex // held over calls of handlers and done functions
	answers *Batch     // of handlers

	mu      sync.Mutex // guards what follows
	err     error      // why no more requests are taken
	table   table
	alarms  alarms
	armed   time.Time // what the clock waits for; zero for nothing
	free    []*transaction
	classes map[agentKey]*class

	transfers map[transferKey]*transfer
	strangers int // transfers of requests of others
	shares    map[ib.LID]*share
	held      int              // bytes of messages in transfers
	outs      [][]mad.Datagram // to be used by step
}

// NewPort starts two goroutines, one that receives and one that watches the
// time; Close ends them. The port owns the device.
func NewPort(dev Device) *Port {
	p := &Port{
		dev: dev, features: dev.Features(), table: newTable(),
		stop: make(chan struct{}), wake: make(chan struct{}, 1),
		classes: make(map[agentKey]*class), transfers: make(map[transferKey]*transfer), shares: make(map[ib.LID]*share),
		began: time.Now(),
	}
	p.answers = p.Batch()
	p.running.Go(p.receive)
	p.running.Go(p.clock)
	return p
}

// Close closes the device, ends all outstanding requests with net.ErrClosed,
// and waits for the port's goroutines. Further calls return the same.
func (p *Port) Close() error {
	p.closing.Do(func() {
		p.fail(net.ErrClosed)
		close(p.stop)
		p.closeErr = p.dev.Close()
		p.running.Wait()
	})
	return p.closeErr
}

// Info is the state of the port as it is now.
func (p *Port) Info() (Info, error) { return p.dev.Info() }

// SetIsSM sets the port's capability bit that says: here is a subnet manager.
// It fails with ErrBusy where somebody else set it.
func (p *Port) SetIsSM(on bool) error { return p.dev.SetIsSM(on) }

// fail lets no more requests in. The first error counts.
func (p *Port) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// receive runs until the device ends, and then ends what is outstanding.
func (p *Port) receive() {
	m := Message{Data: make([]byte, mad.Size)}
	for {
		p.flushAnswers()
		m.Err = nil
		if err := p.dev.Receive(&m); err != nil {
			p.fail(err)
			p.abandon()
			return
		}
		p.dispatch(&m)
	}
}

func (p *Port) dispatch(m *Message) {
	switch {
	case len(m.Data) < headerLen || m.Data[0] != 1:
		p.counters.malformed.Add(1)
	case m.Err != nil:
		p.returned(m)
	case !isWhole(m.Data, p.features.RMPP):
		p.counters.malformed.Add(1)
	case !p.features.RMPP && isSegment(m.Data) && p.usesRMPP(m):
		p.segment(m)
	case mad.Method(m.Data[3]).IsResponse():
		p.answered(m)
	default:
		p.requested(m)
	}
}

// answered ends the request that m answers.
func (p *Port) answered(m *Message) {
	p.mu.Lock()
	t := p.table.get(shortTID(m))
	if t == nil || !t.isAnswer(m) {
		if t != nil && p.features.Timers && t.transfer == nil {
			p.arm(&t.alarm, time.Now().Add(t.timeout)) // the device takes it for the answer
		}
		p.mu.Unlock()
		p.ignored(t)
		return
	}
	done := p.end(t)
	p.mu.Unlock()
	p.counters.answers.Add(1)
	p.call(done, m, nil)
}

// call calls a done function.
func (p *Port) call(done func(*Message, error), m *Message, err error) {
	p.calling.Lock()
	defer p.calling.Unlock()
	done(m, err)
}

// ignored counts an answer that is none, of the transaction with its ID.
func (p *Port) ignored(t *transaction) {
	if t == nil {
		p.counters.stray.Add(1)
	} else {
		p.counters.mismatched.Add(1)
	}
}

// returned takes a request of our own that the device gave back.
func (p *Port) returned(m *Message) {
	p.mu.Lock()
	t := p.table.get(shortTID(m))
	if t == nil || t.key.class != mad.Class(m.Data[1]) {
		p.mu.Unlock()
		p.ignored(t)
		return
	}
	p.lost(t, m.Err)
}

// lost sends the request of t again, or ends it with the reason where it was
// sent often enough. The lock is held on entry and free after.
func (p *Port) lost(t *transaction, reason error) {
	if t.transfer != nil {
		p.mu.Unlock() // the request arrived, or goes by RMPP, which has alarms of its own
		return
	}
	if t.retries > 0 && p.err == nil {
		t.retries--
		p.await(t)
		t.sending++
		p.mu.Unlock()
		p.resend(t)
		return
	}
	err := t.failure(reason)
	done := p.end(t)
	p.mu.Unlock()
	if errors.Is(reason, ErrTimeout) {
		p.counters.timeouts.Add(1)
	}
	p.call(done, nil, err)
}

func (p *Port) resend(t *transaction) {
	p.counters.resent.Add(1)
	if done, err := p.send(t); err != nil {
		p.counters.sendErrors.Add(1)
		p.call(done, nil, err)
	}
}

// send sends the request of t, which the caller marked as being sent. Where the
// device refuses and the request was not over yet, it is, and done returned.
func (p *Port) send(t *transaction) (done func(*Message, error), err error) {
	return p.sent(t, p.dev.Send(&t.msg, t.timeout))
}

// sent is the end of send, after the device.
func (p *Port) sent(t *transaction, err error) (done func(*Message, error), failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.sending--
	t.tries++
	if p.table.get(t.tid) != t {
		p.release(t)
		return nil, nil
	}
	if err == nil {
		return nil, nil
	}
	failed = t.failure(err)
	return p.end(t), failed
}

// await sets the alarm for the answer to t. Where the device watches the time,
// the alarm is for a device that forgets: the kernel tells nothing of a request
// whose send failed below it. The lock is held.
func (p *Port) await(t *transaction) {
	timeout := t.timeout
	if p.features.Timers {
		timeout += forgotten
		if p.features.RMPP {
			timeout += longTransfer // of an answer, of which nothing is seen before its end
		}
	}
	p.arm(&t.alarm, time.Now().Add(timeout))
}

const (
	forgotten    = time.Second
	longTransfer = time.Minute
)

// end takes t out of what is outstanding. The lock is held; the caller calls
// done when it is not.
func (p *Port) end(t *transaction) (done func(*Message, error)) {
	done = t.done
	t.done = nil
	p.table.remove(t)
	p.alarms.drop(&t.alarm)
	if t.transfer != nil {
		p.forget(t.transfer)
		t.transfer = nil
	}
	p.release(t)
	return done
}

// release keeps t for the next request once nothing reads it any more.
func (p *Port) release(t *transaction) {
	if t.sending == 0 {
		p.free = append(p.free, t)
	}
}

// abandon ends everything outstanding with the port's error.
func (p *Port) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.transfers {
		p.forget(x)
	}
	for _, t := range p.table.slots {
		if t == nil {
			continue
		}
		err := t.failure(p.err)
		done := p.end(t)
		p.mu.Unlock()
		p.call(done, nil, err)
		p.mu.Lock()
	}
}

// shortTID is the part of a transaction ID that is the port's own.
func shortTID(m *Message) uint32 { return binary.BigEndian.Uint32(m.Data[12:]) }
