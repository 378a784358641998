package perf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"heddle/verbs"
)

// PingPong plays with ibv_rc_pingpong, ibv_uc_pingpong or ibv_ud_pingpong, the example
// programs of rdma-core, over a connection on which queue pairs are told of, and which
// it closes. The client is who connected, and begins. Both ends must have been told
// the same size and number of messages, Size and Iters, which is 2 at least. The
// spec's test is Latency, and its operation SEND.
func (e *End) PingPong(ctx context.Context, conn net.Conn, s Spec, client bool) (r Result, err error) {
	s.Test, s.Op, s.Batch, s.Warmup = Latency, verbs.OpSend, 1, 1
	if s.Iters--; s.Iters < 1 {
		return r, errors.Join(fmt.Errorf("%d messages, want 2 at least: %w", s.Iters+1, verbs.ErrInvalid), conn.Close())
	}
	if s, err = s.Filled(); err != nil {
		return r, errors.Join(err, conn.Close())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("not done after %v", s.Timeout))
	defer cancel()
	defer context.AfterFunc(ctx, func() { conn.Close() })() //nolint:errcheck // so that nobody waits
	defer conn.Close()
	t := &trial{Spec: s, ctx: ctx, end: e, caps: e.caps.Assume(s.Assume...), first: client, area: shape(&s)}
	defer func() { err = errors.Join(err, t.close()) }()
	if err = t.fits(&t.caps); err == nil {
		err = t.make()
	}
	if err == nil {
		err = t.meetProgram(conn)
	}
	var mine measured
	if err == nil {
		mine, err = t.measure()
	}
	if err == nil {
		linger(ctx)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return r, fmt.Errorf("%s: %w", e.name, err)
	}
	return t.result(mine, mine), nil
}

// linger waits for a moment, in which what got lost of the last message, or of its
// acknowledgement, is sent again. The programs do not say that they have it.
func linger(ctx context.Context) {
	select {
	case <-time.After(200 * time.Millisecond):
	case <-ctx.Done():
	}
}

// meetProgram connects with a program.
func (t *trial) meetProgram(conn net.Conn) error {
	own, err := verbs.ParseEndpoint(t.qp.Endpoint())
	if err != nil {
		return fmt.Errorf("a device that rdma-core's programs do not know: %w", err)
	}
	return verbs.MeetPingPong(conn, own, t.first, func(theirs verbs.EndpointAttr) error {
		t.peer = hello{Name: fmt.Sprintf("QP %d at GID %v", uint32(theirs.QPN), theirs.GID), Endpoint: theirs.Encode()}
		return t.connect()
	})
}
