//go:build amd64

package soft_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// program is one of the example programs of rdma-core.
type program struct {
	name    string
	service verbs.QPType
	size    int // of its messages
	qkey    ib.QKey
}

var programs = []program{
	{"ibv_rc_pingpong", verbs.RC, 4096, 0},
	{"ibv_uc_pingpong", verbs.UC, 4096, 0},
	{"ibv_ud_pingpong", verbs.UD, 1024, 0x11111111},
}

const (
	pingPongRounds = 50
	pingPongDepth  = 32
)

// interopPingPong plays with rdma-core's programs, which are the server and the
// client, by either family.
func interopPingPong(t *testing.T) {
	for _, p := range programs {
		for family, name := range []string{"IPv4", "IPv6"} {
			t.Run(p.name+" as server, "+name, func(t *testing.T) { p.play(t, family, true) })
			t.Run(p.name+" as client, "+name, func(t *testing.T) { p.play(t, family, false) })
		}
	}
}

// play has the program be the server, or the client, of as many rounds.
func (p *program) play(t *testing.T, family int, serves bool) {
	n := softNode(t, family)
	port := fmt.Sprint(18600 + family)
	args := []string{"-d", "rxe1", "-g", gidIndex(t, family), "-n", fmt.Sprint(pingPongRounds), "-p", port}
	if p.service == verbs.UD {
		args = append(args, "-s", fmt.Sprint(p.size))
	}
	ctx, cancel := context.WithTimeout(t.Context(), interopPatience)
	defer cancel()
	var conn net.Conn
	var cmd *exec.Cmd
	var said strings.Builder
	if serves {
		cmd = p.start(ctx, t, &said, args...)
		conn = dial(ctx, t, net.JoinHostPort("127.0.0.1", port))
	} else {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+port)
		must(t, err)
		defer listener.Close()
		cmd = p.start(ctx, t, &said, append(args, "127.0.0.1")...)
		defer context.AfterFunc(ctx, func() { listener.Close() })() //nolint:errcheck // who waits is told
		conn, err = listener.Accept()
		must(t, err)
	}
	defer conn.Close()
	q, ah, to := p.meet(t, n, conn, serves)
	p.rounds(t, n, q, ah, to, serves)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
	if want := fmt.Sprintf("%d iters in", pingPongRounds); !strings.Contains(said.String(), want) {
		t.Errorf("it says %q", said.String())
	}
	operationsDone.Add(2 * pingPongRounds)
}

func (p *program) start(ctx context.Context, t *testing.T, said io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, p.name, args...)
	cmd.Stdout, cmd.Stderr = said, said
	must(t, cmd.Start())
	return cmd
}

// dial waits until somebody listens.
func dial(ctx context.Context, t *testing.T, address string) net.Conn {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("nobody listens: %v", err)
		}
	}
}

// gidIndex is the index of rxe's GID of a family.
func gidIndex(t *testing.T, family int) string {
	t.Helper()
	n := rxeNode(t, family)
	for i := range 16 {
		if e, err := n.ctx.GID(1, i); err == nil && e.GID == n.gid() && e.Type == verbs.GIDRoCEv2 {
			return fmt.Sprint(e.Index)
		}
	}
	t.Fatalf("rxe1 has no GID %v", n.gid())
	return ""
}

// meet makes a QP, and connects it with the program's.
func (p *program) meet(t *testing.T, n *node, conn net.Conn, serves bool) (q verbs.QP, ah verbs.AH, to verbs.EndpointAttr) {
	t.Helper()
	must(t, conn.SetDeadline(time.Now().Add(interopPatience)))
	q = n.qp(verbs.QPAttr{Type: p.service, QKey: p.qkey, RecvWR: pingPongDepth, Timeout: time.Second})
	own, err := verbs.ParseEndpoint(q.Endpoint())
	must(t, err)
	for i := range pingPongDepth {
		p.recv(n, q, i)
	}
	must(t, verbs.MeetPingPong(conn, own, serves, func(theirs verbs.EndpointAttr) (err error) {
		to = theirs
		if p.service != verbs.UD {
			return q.Connect(t.Context(), theirs.Encode())
		}
		if err := q.Connect(t.Context(), nil); err != nil {
			return err
		}
		if ah, _, _, err = n.pd.ResolveAH(theirs.Encode()); err == nil {
			n.later(ah.Close)
		}
		return err
	}))
	return q, ah, to
}

func (p *program) recv(n *node, q verbs.QP, i int) {
	n.recv(q, targetAt+i*8192, p.size+verbs.GRHSize)
}

// rounds sends a message for each that comes. The client, which is who does not
// serve, begins.
func (p *program) rounds(t *testing.T, n *node, q verbs.QP, ah verbs.AH, to verbs.EndpointAttr, begins bool) {
	t.Helper()
	send := func() {
		must(t, q.PostSend(&verbs.SendWR{
			Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(sourceAt, p.size)},
			AH: ah, RemoteQPN: to.QPN, RemoteQKey: p.qkey,
		}))
	}
	if begins {
		send()
	}
	size := uint32(p.size)
	if p.service == verbs.UD {
		size += verbs.GRHSize
	}
	for received, sent := 0, 0; received < pingPongRounds || sent < pingPongRounds; {
		wc := n.succeed()
		if wc.Op == verbs.OpSend {
			sent++
			continue
		}
		if wc.ByteLen != size {
			t.Fatalf("message %d: %+v", received, wc)
		}
		p.recv(n, q, received%pingPongDepth)
		received++
		if !begins || received < pingPongRounds {
			send()
		}
	}
}
