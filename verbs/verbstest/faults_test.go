package verbstest

import (
	"encoding/binary"

	"heddle/verbs"
)

// poll makes a fault that changes each completion; where it says so, one is lost.
func poll(change func(*world, *verbs.WC) (keep bool)) fault {
	return fault{poll: func(c *brokenCQ, into []verbs.WC, n int, err error) (int, error) {
		kept := 0
		for i := range n {
			if change(c.f.world, &into[i]) {
				into[kept] = into[i]
				kept++
			}
		}
		return kept, err
	}}
}

// status makes a fault that changes one result into another.
func status(from, to verbs.Status) fault {
	return poll(func(_ *world, wc *verbs.WC) bool {
		if wc.Status == from {
			wc.Status = to
		}
		return true
	})
}

// post makes a fault that changes a copy of each request.
func post(change func(*world, *verbs.SendWR)) fault {
	return fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
		changed := *wr
		change(q.f.world, &changed)
		return q.QP.PostSend(&changed)
	}}
}

// spoils makes a fault that changes a byte when a request of an operation is
// done: where tells which.
func spoils(op verbs.Op, where func(wr *verbs.SendWR) uint64) fault {
	var posted []verbs.SendWR
	return fault{
		send: func(q *brokenQP, wr *verbs.SendWR) error {
			if wr.Op == op {
				posted = append(posted, *wr)
			}
			return q.QP.PostSend(wr)
		},
		poll: func(c *brokenCQ, into []verbs.WC, n int, err error) (int, error) {
			for i := range into[:n] {
				if into[i].Op == op && len(posted) > 0 {
					c.f.world.spoil(where(&posted[0]))
					posted = posted[1:]
				}
			}
			return n, err
		},
	}
}

func swap(v uint32) uint32 {
	return binary.BigEndian.Uint32(binary.LittleEndian.AppendUint32(nil, v))
}
