package perf

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"heddle/verbs"
)

// How many messages, or round trips, there are between two looks at the clock,
// and how many are compared.
const (
	pingsTogether = 16
	sentTogether  = 64
	compared      = 8
)

// A latency is of so many round trips at least, unless these take this many times
// as long as was asked for: few of them are there in that time when the ends sleep
// by turns, and the median would be of the moments before they stopped to.
const (
	leastPings = 8192
	patience   = 5
)

func (c *channels) phase(d time.Duration) (m measured, err error) {
	before := allocations()
	switch {
	case c.Test == Latency && c.first:
		m, err = c.ping(d)
	case c.Test == Latency:
		m.Messages, err = c.echo(d == 0)
	case len(c.outs) > 0:
		m.Messages, err = c.sendAll(d)
	default:
		m, err = c.takeAll(d == 0)
	}
	if err != nil {
		return m, err
	}
	m.Allocs = (allocations() - before) / uint64(max(m.Messages, 1))
	for _, o := range c.outs {
		m.Senders += o.s.Stats().Memory
	}
	for _, in := range c.ins {
		m.Receivers += in.r.Stats().Memory
	}
	return m, nil
}

// ping sends a message when the one before was answered.
func (c *channels) ping(d time.Duration) (m measured, err error) {
	out, in, check := c.outs[0], c.ins[0], d == 0
	c.list = c.list[:0]
	begin := time.Now()
	for start := begin; ; {
		for range pingsTogether {
			if err := out.pass(c.ctx, check); err != nil {
				return m, err
			}
			if _, err := in.take(c.ctx, check); err != nil {
				return m, err
			}
		}
		now := time.Now()
		if len(c.list) < cap(c.list) {
			c.list = append(c.list, float64(now.Sub(start))/2/pingsTogether)
		}
		m.Messages += pingsTogether
		if took := now.Sub(begin); took >= patience*d || took >= d && m.Messages >= leastPings {
			break
		}
		start = now
	}
	m.Times = timesOf(c.list)
	return m, out.finish(c.ctx)
}

// echo answers each message by one of its own.
func (c *channels) echo(check bool) (n int, err error) {
	out, in := c.outs[0], c.ins[0]
	for ; ; n++ {
		got, err := in.take(c.ctx, check)
		if err != nil || got == 0 {
			return n, err
		}
		if err := out.pass(c.ctx, check); err != nil {
			return n, err
		}
	}
}

// sendAll sends: of Gather each sender for itself, else each message by all.
func (c *channels) sendAll(d time.Duration) (int, error) {
	if c.Test != Gather {
		return c.stream(c.outs, d)
	}
	return c.together(len(c.outs), func(i int) (int, error) { return c.stream(c.outs[i:i+1], d) })
}

// together does something for each of several, at once, and adds up.
func (c *channels) together(of int, do func(i int) (int, error)) (sum int, err error) {
	counts, errs := make([]int, of), make([]error, of)
	var wait sync.WaitGroup
	for i := range of {
		wait.Go(func() { counts[i], errs[i] = do(i) })
	}
	wait.Wait()
	for _, n := range counts {
		sum += n
	}
	return sum, errors.Join(errs...)
}

func (c *channels) stream(outs []*outlet, d time.Duration) (n int, err error) {
	check, together := d == 0, sentTogether
	if check {
		together = compared
	}
	for begin := time.Now(); n == 0 || time.Since(begin) < d; n += together {
		for range together {
			for _, o := range outs {
				if err := o.pass(c.ctx, check); err != nil {
					return n, err
				}
			}
		}
	}
	for _, o := range outs {
		if err := o.finish(c.ctx); err != nil {
			return n, err
		}
	}
	return n, nil
}

// takeAll takes what is sent, and times it.
func (c *channels) takeAll(check bool) (m measured, err error) {
	switch {
	case len(c.ins) == 1:
		m.Messages, m.Elapsed, err = c.drain(c.ins[0], check)
	case c.Test == Gather:
		m.Messages, m.Elapsed, err = c.drainAll(check)
	default: // each of them takes all
		times := make([]time.Duration, len(c.ins))
		m.Messages, err = c.together(len(c.ins), func(i int) (n int, err error) {
			n, times[i], err = c.drain(c.ins[i], check)
			return n, err
		})
		m.Messages /= len(c.ins)
		for _, t := range times {
			m.Elapsed = max(m.Elapsed, t)
		}
	}
	return m, err
}

// drain takes messages of one receiver until all its sources have ended.
func (c *channels) drain(in *inlet, check bool) (n int, elapsed time.Duration, err error) {
	var begin time.Time
	for left := in.sources; left > 0; {
		got, err := in.take(c.ctx, check)
		if err != nil {
			return n, 0, err
		}
		if got == 0 {
			left--
			continue
		}
		if n == 0 {
			begin = time.Now()
		}
		n++
	}
	return n, time.Since(begin), nil
}

// drainAll takes messages of several receivers in turn.
func (c *channels) drainAll(check bool) (n int, elapsed time.Duration, err error) {
	var begin time.Time
	for _, in := range c.ins {
		in.ended = false
	}
	for left := len(c.ins); left > 0; {
		idle := true
		for _, in := range c.ins {
			if in.ended {
				continue
			}
			got, ok, err := in.look(check)
			switch {
			case err != nil:
				return n, 0, err
			case !ok:
				continue
			case got == 0:
				in.ended = true
				left--
			case n == 0:
				begin = time.Now()
				n++
			default:
				n++
			}
			idle = false
		}
		if idle {
			if err := c.yield(); err != nil {
				return n, 0, err
			}
		}
	}
	return n, time.Since(begin), nil
}

// yield lets the device and other goroutines go on: simulated ones do where a
// queue is polled in which there is nothing.
func (c *channels) yield() error {
	runtime.Gosched()
	var none [1]verbs.WC
	for range nudges {
		if _, err := c.idle.Poll(none[:]); err != nil {
			return err
		}
	}
	return context.Cause(c.ctx)
}
