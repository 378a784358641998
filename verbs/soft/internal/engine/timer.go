package engine

import "time"

// timers is a heap of the QPs that wait for a moment. A QP is in it once for the
// earliest moment that it waits for; when that comes and the QP waits longer by
// then, it is put back.
type timers []entry

type entry struct {
	at time.Duration
	qp *QP
}

// wait has a QP's timer run out at a moment, or never where it is 0.
func (q *QP) wait(at time.Duration) {
	q.deadline = at
	if at != 0 && (q.queued == 0 || at < q.queued) {
		q.queued = at
		q.engine.timers.push(entry{at, q})
	}
}

func (t *timers) push(e entry) {
	s := append(*t, e)
	i := len(s) - 1
	for i > 0 && e.at < s[(i-1)/2].at {
		s[i] = s[(i-1)/2]
		i = (i - 1) / 2
	}
	s[i] = e
	*t = s
}

func (t *timers) pop() entry {
	s := *t
	top, e := s[0], s[len(s)-1]
	s[len(s)-1] = entry{}
	s = s[:len(s)-1]
	*t = s
	if len(s) == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1].at < s[child].at {
			child++
		}
		if e.at <= s[child].at {
			break
		}
		s[i] = s[child]
		i = child
	}
	s[i] = e
	return top
}

// due takes out a QP whose timer has run out; nil for none.
func (t *timers) due(now time.Duration) *QP {
	for len(*t) > 0 && (*t)[0].at <= now {
		e := t.pop()
		q := e.qp
		if e.at != q.queued {
			continue // there was an earlier one
		}
		q.queued = 0
		switch {
		case q.deadline == 0:
		case q.deadline <= now:
			q.deadline = 0
			return q
		default:
			q.wait(q.deadline)
		}
	}
	return nil
}

func (t *timers) first() (at time.Duration, some bool) {
	if len(*t) == 0 {
		return 0, false
	}
	return (*t)[0].at, true
}
