//go:build linux && amd64

package ibv_test

import (
	"encoding/hex"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

func testDatagrams(t *testing.T, device string) {
	r := newRig(t, device)
	near, far := r.qp(verbs.QPAttr{Type: verbs.UD, QKey: testQKey}), r.qp(verbs.QPAttr{Type: verbs.UD, QKey: testQKey})
	r.recv(far, 1, 1000, 200) // in INIT, case V2
	mustDo(t, near.Connect(t.Context(), nil))
	mustDo(t, far.Connect(t.Context(), nil))
	ah, qpn, qkey, err := r.pd.ResolveAH(far.Endpoint())
	mustDo(t, err)
	r.later(ah.Close)
	copy(r.bytes(0, 5), "hello")
	wr := verbs.SendWR{
		Op: verbs.OpSendImm, Imm: 77, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.mr.SGE(0, 5)},
		AH: ah, RemoteQPN: qpn, RemoteQKey: qkey,
	}
	mustDo(t, near.PostSend(&wr))
	wc := of(t, r.succeed(2), far)
	if wc.ByteLen != verbs.GRHSize+5 || wc.Imm != 77 || wc.Flags != verbs.WithImm|verbs.WithGRH || wc.SrcQPN != near.QPN() {
		t.Errorf("%+v", wc)
	}
	if got := string(r.bytes(1000+verbs.GRHSize, 5)); got != "hello" {
		t.Errorf("received %q", got)
	}
	// A wrong Q_Key is dropped, and the next datagram is not.
	r.recv(far, 2, 1000, 200)
	wr.RemoteQKey++
	mustDo(t, near.PostSend(&wr))
	wr.RemoteQKey, wr.Imm = qkey, 78
	mustDo(t, near.PostSend(&wr))
	if wc := of(t, r.succeed(3), far); wc.Imm != 78 || wc.ID != 2 {
		t.Errorf("%+v", wc)
	}
}

// testMulticast has three QPs in a group, one of which sends (case V10), for an
// IPv4 and an IPv6 group.
func testMulticast(t *testing.T, device string) {
	for _, group := range []ib.MGID{
		ib.MGID(ib.MustParseGID("::ffff:239.1.1.1")),
		ib.MustParseMGID("ff05::1234"),
	} {
		r := newRig(t, device)
		var members [3]verbs.QP
		for i := range members {
			members[i] = r.qp(verbs.QPAttr{Type: verbs.UD, QKey: testQKey})
			r.recv(members[i], uint64(i), 1000*(i+1), 200)
			mustDo(t, members[i].Connect(t.Context(), nil))
			mustDo(t, members[i].Attach(group, 0))
		}
		ah, err := r.pd.CreateAH(verbs.AHAttr{GID: group.GID()})
		mustDo(t, err)
		r.later(ah.Close)
		copy(r.bytes(0, 5), "hello")
		mustDo(t, members[0].PostSend(&verbs.SendWR{
			Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.mr.SGE(0, 5)},
			AH: ah, RemoteQPN: ib.MulticastQPN, RemoteQKey: testQKey,
		}))
		r.succeed(1 + len(members))
		for i := range members {
			if got := string(r.bytes(1000*(i+1)+verbs.GRHSize, 5)); got != "hello" {
				t.Errorf("member %d of %v received %q", i, group.GID(), got)
			}
		}
		mustDo(t, members[1].Detach(group, 0))
	}
}

// peerVariable is where the second process of testTwoProcesses connects to.
const peerVariable = "HEDDLE_IBV_PEER"

// testTwoProcesses has this process write into the memory of another one, which
// never calls its device meanwhile, and get an answer by SEND.
func testTwoProcesses(t *testing.T, device string) {
	if address := os.Getenv(peerVariable); address != "" {
		servePeer(t, device, address)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	mustDo(t, err)
	defer listener.Close()
	program, err := os.Executable()
	mustDo(t, err)
	peer := exec.CommandContext(t.Context(), program, "-test.run=^TestKernel$/^two_processes$", "-test.v")
	peer.Env = append(os.Environ(), peerVariable+"="+listener.Addr().String())
	var said strings.Builder
	peer.Stdout, peer.Stderr = &said, &said
	mustDo(t, peer.Start())
	defer func() {
		if err := peer.Wait(); err != nil {
			t.Errorf("the peer: %v\n%s", err, said.String())
		}
	}()
	conn, err := listener.Accept()
	mustDo(t, err)
	defer conn.Close()
	r := newRig(t, device)
	q := r.qp(verbs.QPAttr{})
	addr, rkey := meet(t, conn, r, q)
	r.recv(q, 5, 4096, 64)
	copy(r.bytes(0, 8), "written\x01")
	if wc := r.do(q, &verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}, RemoteAddr: addr, RKey: rkey}); wc.Err() != nil {
		t.Error(wc.Err())
	}
	if wc := r.succeed(1)[0]; wc.Op != verbs.OpRecv || string(r.bytes(4096, int(wc.ByteLen))) != "seen: written" {
		t.Errorf("%+v %q", wc, r.bytes(4096, 20))
	}
}

// servePeer waits for what is written into its memory, and answers.
func servePeer(t *testing.T, device, address string) {
	conn, err := net.Dial("tcp", address)
	mustDo(t, err)
	defer conn.Close()
	r := newRig(t, device)
	q := r.qp(verbs.QPAttr{})
	meet(t, conn, r, q)
	last := &r.bytes(0, 8)[7]
	mustDo(t, r.ctx.Await(t.Context(), func() bool { return loadByte(last) == 1 }))
	answer := append([]byte("seen: "), r.bytes(0, 7)...)
	copy(r.bytes(100, 64), answer)
	if wc := r.do(q, &verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{r.mr.SGE(100, len(answer))}}); wc.Err() != nil {
		t.Error(wc.Err())
	}
}

// meet exchanges endpoints and memory over a connection, and connects.
func meet(t *testing.T, conn net.Conn, r *rig, q verbs.QP) (addr uint64, rkey uint32) {
	t.Helper()
	mustDo(t, conn.SetDeadline(time.Now().Add(patience)))
	mustDo(t, writeHello(conn, hello{hex.EncodeToString(q.Endpoint()), r.mr.Addr(), r.mr.RKey()}))
	theirs, err := readHello(conn)
	mustDo(t, err)
	endpoint, err := hex.DecodeString(theirs.Endpoint)
	mustDo(t, err)
	mustDo(t, q.Connect(t.Context(), endpoint))
	// Both are connected before one of them sends.
	mustDo(t, writeHello(conn, hello{}))
	_, err = readHello(conn)
	mustDo(t, err)
	return theirs.Addr, theirs.RKey
}
