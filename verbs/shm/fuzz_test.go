//go:build linux && (amd64 || arm64)

package shm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/verbs"
)

// intruder is a peer that has what a peer is given, and does with it what it
// wants.
type intruder struct {
	conn  *net.UnixConn
	rings *mapping // the file of both: headers, what it writes, what it reads
	bell  *mapping // the victim's
}

// intrude has an intruder connect to a QP.
func intrude(t testing.TB, q *pair) *intruder {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ring := ringSize
	if q.attr.Type == verbs.UD {
		ring = datagramRing
	}
	file, err := newFile("rings", controlSize(ring))
	must(err)
	in := &intruder{}
	in.conn, err = net.DialUnix("unixpacket", nil, q.self.socket())
	must(err)
	in.rings, err = mapFile(file, 0, controlSize(ring), 1, true)
	must(err)
	in.bell, err = mapFile(q.host.bell.file, 0, pageBytes, 1, true)
	must(err)
	me := endpoint{QPN: 9, Type: q.attr.Type}
	hello := &frame{Kind: helloFrame, To: q.self.QPN, Secret: q.self.Secret, From: me, Access: verbs.Access(0xff)}
	must(send(in.conn, hello, file, q.host.bell.file, q.host.board.reading))
	must(file.Close())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(q.Connect(ctx, me.AppendTo(nil)))
	_, files, err := receive(in.conn)
	must(errors.Join(err, closeFiles(files)))
	for heard := q.attr.Type != verbs.UD; !heard; {
		q.receiving.Lock()
		heard = len(q.guests) > 0
		q.receiving.Unlock()
	}
	return in
}

func (in *intruder) close() error {
	return errors.Join(in.conn.Close(), in.rings.Close(), in.bell.Close())
}

// action is a step of a program that the fuzzer writes: 12 bytes.
type action struct {
	code, area uint8
	at         uint16
	value      uint64
}

const (
	doStore8 = iota // by the intruder
	doStore4
	doStore1
	doFrame
	doOffer
	doPoll // by the victim, as all below
	doSend
	doRecv
	doWrite
	doActions
)

const (
	areaHeaders = iota // of both rings
	areaOut            // what the intruder should write
	areaIn             // what it should read
	areaBell
	areas
)

func (a action) bytes() []byte {
	b := binary.LittleEndian.AppendUint16([]byte{a.code, a.area}, a.at)
	return binary.LittleEndian.AppendUint64(b, a.value)
}

func actionsOf(b []byte) (list []action) {
	for ; len(b) >= 12 && len(list) < 64; b = b[12:] {
		list = append(list, action{b[0] % doActions, b[1] % areas, binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint64(b[4:])})
	}
	return list
}

func program(list ...action) (b []byte) {
	for _, a := range list {
		b = append(b, a.bytes()...)
	}
	return b
}

// store writes to what is shared, in one piece, as far as it is aligned.
func (in *intruder) store(a action) {
	ring := (len(in.rings.bytes) - 2*headerRoom) / 2
	area := in.bell.bytes
	switch a.area {
	case areaHeaders:
		area = in.rings.bytes[:2*headerRoom]
	case areaOut:
		area = in.rings.bytes[2*headerRoom:][:ring]
	case areaIn:
		area = in.rings.bytes[2*headerRoom+ring:]
	}
	at := unsafe.Pointer(&area[int(a.at)%len(area)&^7])
	switch a.code {
	case doStore8:
		atomic.StoreUint64((*uint64)(at), a.value)
	case doStore4:
		atomic.StoreUint32((*uint32)(at), uint32(a.value))
	case doStore1:
		release8((*byte)(at), uint8(a.value))
	}
}

// victim is who shares memory with an intruder.
type victim struct {
	*party
	q      *pair
	posted map[uint64]bool // by ID
	last   uint64
}

const (
	victimBuffer  = 64 // bytes for each receive, at the begin of the memory
	victimBuffers = 16
	victimGuard   = 0x5a
)

func (v *victim) id() uint64 {
	v.last++
	v.posted[v.last] = true
	return v.last
}

// do is what the victim does; a refused post is none.
func (v *victim) do(t testing.TB, a action) {
	t.Helper()
	sge := v.mr.SGE(1<<15, int(a.value%20000))
	wr := &verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{sge}}
	var err error
	switch a.code {
	case doSend:
		wr.ID = v.id()
		err = v.q.PostSend(wr)
	case doWrite:
		wr.ID, wr.Op, wr.RKey, wr.RemoteAddr = v.id(), []verbs.Op{verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead, verbs.OpFetchAdd}[a.area], uint32(a.value), a.value>>32
		if wr.Op == verbs.OpFetchAdd {
			wr.SGEs[0].Length = 8
		}
		err = v.q.PostSend(wr)
	case doRecv:
		n := int(v.last) % victimBuffers
		err = v.q.PostRecv(&verbs.RecvWR{ID: v.id(), SGEs: []verbs.SGE{v.mr.SGE(n*victimBuffer, victimBuffer)}})
	case doPoll:
		v.poll(t, a.area == 0)
	}
	if err != nil {
		delete(v.posted, v.last)
	}
}

// poll takes completions: each of something that was posted, once.
func (v *victim) poll(t testing.TB, slow bool) {
	t.Helper()
	if slow {
		v.cq.(*completions).work(true)
	}
	var wcs [8]verbs.WC
	n, err := v.cq.Poll(wcs[:])
	if err != nil {
		t.Fatal(err)
	}
	for _, wc := range wcs[:n] {
		if !v.posted[wc.ID] {
			t.Fatalf("%+v, which was not posted, or has completed", wc)
		}
		delete(v.posted, wc.ID)
	}
}

// unhurt looks at the memory that nothing was posted for, which is not read from
// by a READ or an atomic either.
func (v *victim) unhurt(t testing.TB) {
	t.Helper()
	for i, c := range v.mem.Bytes()[victimBuffers*victimBuffer : 1<<15] {
		if c != victimGuard {
			t.Fatalf("byte %d was written", victimBuffers*victimBuffer+i)
		}
	}
}

// FuzzControlRing: whatever a peer writes into the memory that it shares with a
// QP, at whatever moment, nothing but that QP suffers: no crash, no byte outside
// of posted buffers, each posted request completes once at most, Close returns.
// How is the type of the QP, and whether the peer goes on writing while the victim
// does something, so that it reads something else each time.
func FuzzControlRing(f *testing.F) {
	record := func(k kind, flags uint8, n uint32) uint64 { return uint64(n) | uint64(flags)<<24 | uint64(k)<<32 }
	const whole = firstFlag | lastFlag
	at := func(field uintptr, second bool) uint16 {
		if second {
			return uint16(field) + headerRoom
		}
		return uint16(field)
	}
	recv, poll := action{code: doRecv}, action{code: doPoll}
	send := action{code: doSend, value: 32}
	var h header
	lend := func(n, addr uint64) []byte {
		const key, base = 5, 1 << 20
		return program(recv, action{doOffer, 0, key, base}, action{doStore8, areaOut, 8, n << 32}, action{doStore8, areaOut, 16, base + addr}, action{doStore8, areaOut, 24, key},
			action{doStore8, areaOut, 0, record(lentKind, whole, 0)}, poll, recv, poll)
	}
	for how := range uint8(6) {
		f.Add(how, program(recv, action{doStore8, areaOut, 0, record(sendKind, whole, 8)}, poll, recv, poll))
		f.Add(how, program(recv, action{doStore8, areaOut, 0, record(sendKind, firstFlag, maxPiece)}, poll, action{doStore8, areaOut, maxPiece + 16, record(sendKind, firstFlag, 1)}, poll))
		f.Add(how, program(recv, action{doStore8, areaOut, 0, record(writeImmKind, whole|solicitedFlag, 0)}, poll, action{doStore8, areaOut, 16, record(9, 0xff, 0xffffff)}, poll))
		f.Add(how, program(recv, action{doStore8, areaOut, 0, record(datagramKind, whole|immFlag, 20)}, poll, poll))
		for _, n := range []uint64{0, 8, victimBuffer + 1, lentPiece, lentPiece + 1, 1<<32 - 1} {
			f.Add(how, lend(n, 0))
		}
		for _, addr := range []uint64{1, 1<<16 - 8, 1<<16 - 7, 1 << 16, 1 << 60, ^uint64(0) - 1<<20} {
			f.Add(how, lend(8, addr))
		}
		f.Add(how, append(lend(8, 0), program(action{doOffer, 0, 5, 1 << 30}, action{doStore8, areaHeaders, at(unsafe.Offsetof(h.voided), true), 1}, poll)...))
		f.Add(how, append(program(action{doStore4, areaHeaders, at(unsafe.Offsetof(h.voided), false), 1}), lend(8, 0)...))
		for _, second := range []bool{false, true} {
			f.Add(how, program(send, action{doStore8, areaHeaders, at(unsafe.Offsetof(h.head), second), 48}, poll, send, action{doStore8, areaHeaders, at(unsafe.Offsetof(h.head), second), 1 << 40}, poll))
			f.Add(how, program(send, action{doStore8, areaHeaders, at(unsafe.Offsetof(h.rnr), second), 1}, send, poll, action{doStore8, areaHeaders, at(unsafe.Offsetof(h.ticks), second), 7}, poll))
			f.Add(how, program(send, action{doStore4, areaHeaders, at(unsafe.Offsetof(h.fail), second), 10}, poll, send))
			f.Add(how, program(send, action{doStore4, areaHeaders, at(unsafe.Offsetof(h.accused), second), 10}, poll, send))
		}
		f.Add(how, program(action{doStore4, areaBell, 0, 1}, recv, action{doFrame, 0, 0, uint64(kickFrame)}, poll))
		f.Add(how, program(action{doWrite, 0, 0, 5}, action{doFrame, 0, 0, uint64(regionFrame)}, poll, action{doWrite, 2, 0, 5}, action{doFrame, 0, 0, uint64(byeFrame)}, send, poll))
	}
	a, b := newParty(f), newParty(f)
	runs := 0
	f.Fuzz(func(t *testing.T, how uint8, data []byte) {
		service := []verbs.QPType{verbs.RC, verbs.UC, verbs.UD}[how%3]
		v := &victim{party: b, q: b.newPair(t, service), posted: map[uint64]bool{}}
		in := intrude(t, v.q)
		for i := range b.mem.Bytes() {
			b.mem.Bytes()[i] = victimGuard
		}
		list := actionsOf(data)
		if how/3%2 == 1 {
			storm(t, in, v, list)
		} else {
			for _, one := range list {
				step(t, in, v, one)
			}
		}
		for range 4 {
			v.poll(t, true)
		}
		v.unhurt(t)
		if err := errors.Join(v.q.Close(), in.close()); err != nil {
			t.Fatal(err)
		}
		if runs++; runs%256 == 0 {
			works(t, a, b)
		}
	})
}

// offer lends the victim a region, and waits until it has looked at that.
func (in *intruder) offer(t testing.TB, a action) {
	t.Helper()
	file, err := newFile("lent", 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	f := &frame{Kind: offerFrame, Times: 1 + a.area/3, Key: uint32(a.at), Base: a.value &^ (pageBytes - 1), Size: 1 << 16, From: endpoint{Type: verbs.RC}}
	err = send(in.conn, f, file)
	if err := errors.Join(file.Close(), in.conn.SetReadDeadline(time.Now().Add(100*time.Millisecond))); err != nil {
		t.Fatal(err)
	}
	for err == nil && f.Kind != takenFrame {
		var files []*os.File
		*f, files, err = receive(in.conn) // or it was thrown out
		_ = closeFiles(files)
	}
}

func step(t testing.TB, in *intruder, v *victim, a action) {
	t.Helper()
	switch {
	case a.code < doFrame:
		in.store(a)
	case a.code == doOffer:
		if v.q.attr.Type != verbs.UD { // which answers nothing
			in.offer(t, a)
		}
	case a.code == doFrame:
		f := &frame{Kind: frameKind(a.value%10) + helloFrame - 1, Key: uint32(a.value >> 8), Status: verbs.Status(a.at), From: endpoint{Type: verbs.RC}}
		_ = send(in.conn, f) // it may have been thrown out
	default:
		v.do(t, a)
	}
}

// storm has the intruder store again and again, while the victim does its part
// many times.
func storm(t testing.TB, in *intruder, v *victim, list []action) {
	t.Helper()
	var stop atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for !stop.Load() {
			for _, one := range list {
				if one.code < doFrame {
					in.store(one)
				}
			}
		}
	}()
	defer func() { stop.Store(true); <-stopped }()
	for range 20 {
		for _, one := range list {
			if one.code >= doFrame {
				step(t, in, v, one)
			}
		}
		v.poll(t, true)
	}
}

// FuzzHandshake: whatever comes to a context's socket, or from one that it came
// to, with and without files, from who knows a QP's secret and who does not: no
// crash, no hang, no descriptor left, and others still get in. What is a frame
// encodes to the same bytes again.
//
// In data each message is a byte for its files, one for its length, and bytes.
func FuzzHandshake(f *testing.F) {
	hello := (&frame{Kind: helloFrame, From: endpoint{Type: verbs.RC}}).AppendTo(nil)
	message := func(files byte, b []byte) []byte { return append([]byte{files, byte(len(b))}, b...) }
	f.Add(uint8(0), message(0, hello))
	f.Add(uint8(1), append(message(3, hello), message(3, hello)...))
	f.Add(uint8(1), message(7, hello[:len(hello)-1]))
	f.Add(uint8(0), message(7, nil))
	for files := range byte(64) {
		f.Add(uint8(3), message(files, hello))
	}
	welcome := (&frame{Kind: welcomeFrame, Access: 0xff, From: endpoint{Type: verbs.RC}}).AppendTo(nil)
	for files := range byte(64) {
		f.Add(uint8(2), message(files, welcome))
	}
	for k := askFrame; k <= byeFrame; k++ {
		more := (&frame{Kind: k, Times: 1, Size: 1 << 50, Key: 5, From: endpoint{Type: verbs.RC}}).AppendTo(nil)
		f.Add(uint8(0x80|k), append(message(2, more), message(1, more)...))
	}
	a, b := newParty(f), newParty(f)
	lure := endpoint{Type: verbs.RC, Name: [16]byte(bytes.Repeat([]byte{0xff}, 16))}
	copy(lure.Name[8:], b.name[:]) // unlike that of another process
	listener, err := net.ListenUnix("unixpacket", lure.socket())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = listener.Close() })
	before, runs := openFiles(f), 0
	f.Fuzz(func(t *testing.T, how uint8, data []byte) {
		if got, err := parseFrame(data); err == nil && !bytes.Equal(got.AppendTo(nil), data) {
			t.Fatalf("%+v encodes to other bytes", got)
		}
		q := a.newPair(t, verbs.RC)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		connected := make(chan struct{})
		var conn *net.UnixConn
		switch {
		case how&0x80 != 0: // it is connected, and speaks then
			in := intrude(t, q)
			conn = in.conn
			defer in.close() //nolint:errcheck // its socket is closed already
			close(connected)
		case how%4 == 2: // it is come to
			go connectAnyhow(ctx, q, &lure, connected)
			var err error
			if conn, err = listener.AcceptUnix(); err != nil {
				t.Fatal(err)
			}
		default: // it comes, and may know the secret
			var err error
			if conn, err = net.DialUnix("unixpacket", nil, q.self.socket()); err != nil {
				t.Fatal(err)
			}
			me := endpoint{Type: verbs.RC}
			go connectAnyhow(ctx, q, &me, connected)
		}
		speak(t, conn, q, how%4 != 0, data)
		if err := errors.Join(conn.Close(), q.Close()); err != nil {
			t.Fatal(err)
		}
		<-connected
		for start := time.Now(); openFiles(t) > before; {
			if time.Since(start) > 10*time.Second {
				t.Fatalf("%d descriptors, and %d before", openFiles(t), before)
			}
		}
		if runs++; runs%256 == 0 {
			works(t, a, b)
		}
	})
}

// connectAnyhow connects, whatever comes of it.
func connectAnyhow(ctx context.Context, q *pair, to *endpoint, done chan struct{}) {
	_ = q.Connect(ctx, to.AppendTo(nil))
	close(done)
}

// speak sends messages with files. With the secret, they are let through as if
// they were from who has it.
func speak(t testing.TB, conn *net.UnixConn, q *pair, secret bool, data []byte) {
	t.Helper()
	for len(data) >= 2 {
		how := data[0]
		n := min(int(data[1]), len(data)-2)
		b := bytes.Clone(data[2:][:n])
		if data = data[2+n:]; secret && n == frameSize {
			binary.BigEndian.PutUint32(b[9:], uint32(q.self.QPN))
			copy(b[49:], q.self.Secret[:])
		}
		files := oddFiles(t, how)
		err := sendFiles(conn, b, files)
		_ = closeFiles(files)
		if err != nil {
			return // it was thrown out
		}
	}
}

func sendFiles(conn *net.UnixConn, b []byte, files []*os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	failed := error(nil)
	err = raw.Write(func(fd uintptr) bool { failed = sendNow(int(fd), b, rights(files)); return true })
	return errors.Join(err, failed)
}

// oddFiles are up to seven files: the lower bits are how many, the others what
// they are.
func oddFiles(t testing.TB, how uint8) (files []*os.File) {
	t.Helper()
	for i := range int(how) % 8 {
		files = append(files, oddFile(t, int(how)/8, i))
	}
	return files
}

// oddFile is one that is right in its place, where kind is 0: rings, a bell, a
// board; or it is not sealed, too short, only for reading, no memory, a socket.
func oddFile(t testing.TB, kind, i int) *os.File {
	t.Helper()
	size := []int{controlSize(ringSize), boardBytes, boardBytes}[i%3]
	var fd int
	var err error
	switch kind % 8 {
	case 1:
		fd, err = unix.Open("/dev/zero", unix.O_RDWR|unix.O_CLOEXEC, 0)
	case 2:
		fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	case 3:
		fd, err = unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	default:
		fd, err = unix.MemfdCreate("odd", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "odd")
	switch kind % 8 {
	case 1, 2, 3:
		return file
	case 4:
		size = 1
	}
	if err := file.Truncate(int64(size)); err != nil {
		t.Fatal(err)
	}
	if kind%8 != 5 {
		if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
			t.Fatal(err)
		}
	}
	if kind%8 == 6 {
		reading, err := readOnly(file)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		return reading
	}
	return file
}

// openFiles is how many descriptors the process has.
func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// FuzzRegion: whatever a peer answers that is asked for a region, and whatever
// file comes with it, requests end, or wait for the next answer, and nothing
// outside of the file is touched.
func FuzzRegion(f *testing.F) {
	answer := func(times uint8, access verbs.Access, base, size, offset uint64) []byte {
		return (&frame{Kind: regionFrame, Times: times, Access: access, Key: 5, Base: base, Size: size, Offset: offset, From: endpoint{Type: verbs.RC}}).AppendTo(nil)
	}
	for files := range uint8(64) {
		f.Add(files, uint64(1<<20), uint32(64), answer(1, 0xff, 1<<20, 1<<16, 0))
	}
	for _, times := range []uint8{0, 1, 2, 3, 255} {
		f.Add(uint8(1), uint64(1<<20), uint32(64), answer(times, 0xff, 1<<20, 8192, 4096))
	}
	for _, n := range []uint64{0, 1, 4095, 1 << 46, 1<<46 + 1, 1 << 63, ^uint64(0)} {
		f.Add(uint8(1), n, uint32(8), answer(1, 0xff, n, 4096, 0))
		f.Add(uint8(1), uint64(1<<20), uint32(8), answer(1, 0xff, 1<<20, n, 0))
		f.Add(uint8(1), n, uint32(8), answer(2, 0xff, n, 4096, n))
	}
	b := newParty(f)
	f.Fuzz(func(t *testing.T, files uint8, addr uint64, n uint32, data []byte) {
		v := &victim{party: b, q: b.newPair(t, verbs.RC), posted: map[uint64]bool{}}
		in := intrude(t, v.q)
		sge := v.mr.SGE(1<<15, int(n)%(1<<15))
		for _, op := range []verbs.Op{verbs.OpWrite, verbs.OpRead, verbs.OpFetchAdd, verbs.OpWriteImm} {
			wr := &verbs.SendWR{ID: v.id(), Op: op, Flags: verbs.Signaled, SGEs: []verbs.SGE{sge}, RKey: 5, RemoteAddr: addr}
			if op == verbs.OpFetchAdd {
				wr.SGEs[0].Length = 8
			}
			if v.q.PostSend(wr) != nil {
				delete(v.posted, wr.ID)
			}
		}
		list := oddFiles(t, files)
		_ = sendFiles(in.conn, data, list) // it may have been thrown out
		// What comes after a frame has been looked at by the time that this one is.
		err := errors.Join(closeFiles(list), in.conn.CloseWrite())
		for start := time.Now(); len(v.posted) > 0; v.poll(t, true) {
			if time.Since(start) > 20*time.Second {
				t.Fatalf("%d requests did not complete", len(v.posted))
			}
		}
		if err := errors.Join(err, v.q.Close(), in.close()); err != nil {
			t.Fatal(err)
		}
	})
}
