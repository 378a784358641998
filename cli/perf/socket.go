package perf

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// socketTrial is Wake over a Unix socket of its own.
func (l *Link) socketTrial(e *End, s Spec, first bool) (r Result, err error) {
	ctx, cancel := context.WithTimeoutCause(l.ctx, s.Timeout, fmt.Errorf("not done after %v", s.Timeout))
	defer cancel()
	r = Result{Spec: s, First: e.name}
	if first {
		err = l.socketFirst(ctx, s)
	} else {
		r.Times, err = l.socketSecond(ctx, s)
	}
	if err != nil {
		return r, l.fail(err)
	}
	mine := measured{Times: r.Times}
	var theirs measured
	if err := l.swap(mine, &theirs); err != nil {
		return r, l.fail(err)
	}
	if first {
		r.Times = theirs.Times
	}
	return r, nil
}

func (l *Link) socketFirst(ctx context.Context, s Spec) error {
	conn, err := l.dial(ctx, UnixSocket)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() //nolint:errcheck // who waits is told
	message := make([]byte, wakeSize)
	for range s.Warmup + s.Iters {
		for start := time.Now(); time.Since(start) < pause; {
			continue // as in rouse
		}
		binary.LittleEndian.PutUint64(message, uint64(time.Now().UnixNano()))
		if _, err := conn.Write(message); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, message); err != nil {
			return err
		}
	}
	return nil
}

func (l *Link) socketSecond(ctx context.Context, s Spec) (Times, error) {
	conn, err := l.invite(ctx, UnixSocket)
	if err != nil {
		return Times{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() //nolint:errcheck // who waits is told
	message := make([]byte, wakeSize)
	list := make([]float64, 0, s.Iters)
	for i := range s.Warmup + s.Iters {
		if _, err := io.ReadFull(conn, message); err != nil {
			return Times{}, err
		}
		now := time.Now().UnixNano()
		if i >= s.Warmup {
			list = append(list, float64(now-int64(binary.LittleEndian.Uint64(message))))
		}
		if _, err := conn.Write(message); err != nil {
			return Times{}, err
		}
	}
	return timesOf(list), nil
}
