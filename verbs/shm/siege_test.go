//go:build linux && (amd64 || arm64)

package shm

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/verbs"
)

// TestCrowd: thousands come to a context's socket and say nothing. They take a
// bounded number of descriptors and goroutines, and others get in all the while.
func TestCrowd(t *testing.T) {
	a, b := newParty(t), newParty(t)
	name := (&endpoint{Name: a.name}).socket()
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	var crowd []*net.UnixConn
	for i := range 3000 {
		conn, err := net.DialUnix("unixpacket", nil, name)
		if err != nil {
			t.Fatal(err)
		}
		if crowd = append(crowd, conn); len(crowd) > 200 { // there are no more descriptors of its own
			_ = crowd[0].Close()
			crowd = crowd[1:]
		}
		if i%500 == 250 {
			works(t, a, b)
		}
		if n := openFiles(t) - files; n > len(crowd)+2*maxGuests {
			t.Fatalf("%d descriptors for %d silent guests", n, len(crowd))
		}
	}
	if n := runtime.NumGoroutine() - goroutines; n > 2*maxGuests {
		t.Errorf("%d goroutines for silent guests", n)
	}
	for _, conn := range crowd {
		_ = conn.Close()
	}
	works(t, a, b)
	if !dropsTo(func() int { return openFiles(t) }, files) || !dropsTo(runtime.NumGoroutine, goroutines) {
		t.Errorf("descriptors %d -> %d, goroutines %d -> %d", files, openFiles(t), goroutines, runtime.NumGoroutine())
	}
}

// dropsTo waits for a number to be no more than that.
func dropsTo(n func() int, most int) bool {
	for start := time.Now(); time.Since(start) < 10*time.Second; runtime.Gosched() {
		if n() <= most {
			return true
		}
	}
	return false
}

// TestSilentGuest: who comes and says nothing has to go.
func TestSilentGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as the patience with guests")
	}
	a := newParty(t)
	conn, err := net.DialUnix("unixpacket", nil, (&endpoint{Name: a.name}).socket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	if err := conn.SetDeadline(time.Now().Add(4 * patience)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := receive(conn); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a silent guest is still there: %v", err)
	}
}

// TestDeafPeer: a peer asks without end, and does not read the answers. Its QP
// can be used and closed, others go on, and it is thrown out.
func TestDeafPeer(t *testing.T) {
	a, b := newParty(t), newParty(t)
	q := a.newPair(t, verbs.RC)
	in := intrude(t, q)
	ask := &frame{Kind: askFrame, Key: a.mr.RKey(), From: endpoint{Type: verbs.RC}}
	for start := time.Now(); ; {
		err := send(in.conn, ask)
		if err != nil && !errors.Is(err, errFull) {
			break // it was thrown out
		}
		if time.Since(start) > 10*time.Second {
			t.Fatal("it asks and asks")
		}
	}
	works(t, a, b)
	if err := errors.Join(q.Close(), in.close()); err != nil {
		t.Error(err)
	}
}

// TestStoppedReader: the socket of a peer that reads nothing is full. Nothing of
// the QP waits for that.
func TestStoppedReader(t *testing.T) {
	a, b := newParty(t), newParty(t)
	q := a.newPair(t, verbs.RC)
	in := intrude(t, q)
	l := q.link.Load()
	for err := error(nil); err == nil; {
		err = send(l.conn, &frame{Kind: kickFrame, From: q.self})
	}
	wr := &verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RKey: 7}
	if err := q.PostSend(wr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := verbs.Await(ctx, a.cq, make([]verbs.WC, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of a region that cannot be asked for yet: %v", err)
	}
	works(t, a, b)
	if err := errors.Join(q.Close(), in.close()); err != nil {
		t.Error(err)
	}
}

// TestStowaways: descriptors that come with no bytes, or too many of them, are
// not kept.
func TestStowaways(t *testing.T) {
	a := newParty(t)
	before := openFiles(t)
	for i := range 200 {
		conn, err := net.DialUnix("unixpacket", nil, (&endpoint{Name: a.name}).socket())
		if err != nil {
			t.Fatal(err)
		}
		files := oddFiles(t, uint8(i))
		var b [frameSize]byte
		if i%2 == 0 {
			err = sendNoBytes(conn, files)
		} else {
			err = sendFiles(conn, b[:], files)
		}
		if err := errors.Join(err, closeFiles(files)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := receive(conn); err == nil {
			t.Error("a stowaway was let in")
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !dropsTo(func() int { return openFiles(t) }, before) {
		t.Errorf("%d descriptors, %d before", openFiles(t), before)
	}
}

// sendNoBytes sends files alone, as the library of system calls does not.
func sendNoBytes(conn *net.UnixConn, files []*os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	oob, errno := rights(files), unix.Errno(0)
	message := unix.Msghdr{Control: unsafe.SliceData(oob)}
	message.SetControllen(len(oob))
	err = raw.Write(func(fd uintptr) bool {
		_, _, errno = unix.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&message)), 0)
		return true
	})
	if errno != 0 {
		err = errno
	}
	return err
}

// TestHugePages: a file of huge pages is refused, as a peer could make holes in
// it that cannot be filled again.
func TestHugePages(t *testing.T) {
	fd, err := unix.MemfdCreate("huge", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_HUGETLB)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		t.Skip("the kernel has no huge pages")
	}
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "huge")
	defer file.Close() //nolint:errcheck // of a test
	if err := unix.Ftruncate(fd, 2<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	if err := checkFile(file, 4096); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("huge pages: %v", err)
	}
}

// TestCloseEndsConnect: Close and Reset end a Connect that waits, whichever side
// of it.
func TestCloseEndsConnect(t *testing.T) {
	a := newParty(t)
	for _, name := range []byte{0, 0xff} { // who comes, and who is come to
		lure := endpoint{Type: verbs.RC, QPN: 3, Name: [16]byte{0: name, 1: name, 2: name}}
		copy(lure.Name[8:], a.name[:])
		listener, err := net.ListenUnix("unixpacket", lure.socket())
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []func(q *pair) error{(*pair).Close, func(q *pair) error { return errors.Join(q.Modify(verbs.Reset), q.Close()) }} {
			q := a.newPair(t, verbs.RC)
			got := make(chan error, 1)
			go func() { got <- q.Connect(t.Context(), lure.AppendTo(nil)) }()
			for waits := false; !waits; {
				q.mu.Lock()
				waits = q.connecting != nil
				q.mu.Unlock()
			}
			if err := end(q); err != nil {
				t.Error(err)
			}
			if err := <-got; !errors.Is(err, verbs.ErrClosed) {
				t.Errorf("%v", err)
			}
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDrainedThenGone: what was posted in SQD before the peer left completes, and
// a datagram that was is sent.
func TestDrainedThenGone(t *testing.T) {
	a, b := newParty(t), newParty(t)
	x, y := a.newPair(t, verbs.RC), b.newPair(t, verbs.RC)
	joinPairs(t, x, y)
	wr := &verbs.SendWR{ID: 8, Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}}
	if err := errors.Join(x.Modify(verbs.SQD), y.Close()); err != nil {
		t.Fatal(err)
	}
	for x.link.Load() != nil {
		runtime.Gosched()
	}
	wcs := make([]verbs.WC, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := errors.Join(x.PostSend(wr), x.Modify(verbs.RTS)); err != nil {
		t.Fatal(err)
	}
	if _, err := verbs.Await(ctx, a.cq, wcs); err != nil || wcs[0].Status != verbs.StatusRetryExceeded {
		t.Errorf("%v, %+v", err, wcs[0])
	}
	d, e := a.newPair(t, verbs.UD), b.newPair(t, verbs.UD)
	ah, qpn, key, err := a.pd.ResolveAH(e.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	wr.AH, wr.RemoteQPN, wr.RemoteQKey = ah, qpn, key
	for _, q := range []*pair{d, e} {
		if err := q.Connect(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(e.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 64)}}), d.Modify(verbs.SQD), d.PostSend(wr), d.Modify(verbs.RTS)); err != nil {
		t.Fatal(err)
	}
	if _, err := verbs.Await(ctx, b.cq, wcs); err != nil || wcs[0].Status != verbs.StatusOK {
		t.Errorf("%v, %+v", err, wcs[0])
	}
	if err := errors.Join(ah.Close(), x.Close(), d.Close(), e.Close()); err != nil {
		t.Error(err)
	}
}
