package umad

import (
	"math/rand/v2"
	"time"

	"heddle/mad"
)

// transaction is one request that waits for its answer. The Port's lock guards
// it; what is sent does not change until the last Send of it has returned.
type transaction struct {
	tid     uint32
	key     key // of the answer
	msg     Message
	buf     mad.Datagram // msg.Data, where it fits
	grh     GRH          // msg.GRH, where there is one
	done    func(*Message, error)
	timeout time.Duration
	retries int // left
	limit   int // bytes of an answer by RMPP
	tries   int // made

	alarm    alarm
	transfer *transfer // of the request or of the answer by RMPP, while it runs
	sending  int       // Sends that are running
}

// prepare makes t the transaction of a request. The ID is not given yet.
func (t *transaction) prepare(req *Message, answer key, o CallOptions, done func(*Message, error)) {
	t.key, t.done = answer, done
	t.timeout, t.retries, t.tries, t.limit = o.Timeout, o.Retries, 0, o.MaxBytes
	t.msg = Message{Data: append(t.buf[:0], req.Data...)}
	t.msg.setAddress(req.Address, &t.grh)
	t.alarm.t = t
}

// table holds the outstanding transactions by ID. IDs are given in order, and
// the low bits of an ID are its place, so that finding one costs no hashing
// and an ID comes again only after 2^32 others.
type table struct {
	slots []*transaction // a power of two of them
	count int
	next  uint32
}

func newTable() table {
	return table{slots: make([]*transaction, 64), next: rand.Uint32()}
}

// add gives t an ID that is not 0 and that no other transaction has.
func (t *table) add(x *transaction) {
	if 2*t.count >= len(t.slots) {
		t.grow()
	}
	for t.next == 0 || t.slots[t.place(t.next)] != nil {
		t.next++
	}
	x.tid = t.next
	t.slots[t.place(x.tid)] = x
	t.count++
	t.next++
}

func (t *table) place(tid uint32) int { return int(tid) & (len(t.slots) - 1) }

// grow doubles the table: IDs that differ in their low bits differ in one more.
func (t *table) grow() {
	old := t.slots
	t.slots = make([]*transaction, 2*len(old))
	for _, x := range old {
		if x != nil {
			t.slots[t.place(x.tid)] = x
		}
	}
}

// get is the transaction of an ID, or nil.
func (t *table) get(tid uint32) *transaction {
	if x := t.slots[t.place(tid)]; x != nil && x.tid == tid {
		return x
	}
	return nil
}

func (t *table) remove(x *transaction) {
	t.slots[t.place(x.tid)] = nil
	t.count--
}
