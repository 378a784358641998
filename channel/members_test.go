package channel

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// memberVariable has a process of this test program be one of the many senders or
// readers of a channel; it is the Unix socket of the one side.
const (
	memberVariable     = "HEDDLE_CHANNEL_MEMBER"
	memberKindVariable = "HEDDLE_CHANNEL_MEMBER_KIND"
)

// beMember sends or receives until its input ends, or the peer is gone, and then
// says how many messages there were and what ended it.
func beMember(address, name string) error {
	dev, err := openLive()
	if err != nil {
		return err
	}
	kind, err := Find(name)
	if err != nil {
		return err
	}
	tr, err := NewTransport(dev)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	link, err := Dial(ctx, "unix", address, LinkConfig{})
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	var n uint64
	if kind.Senders {
		n, err = sendAll(ctx, tr, kind, link)
	} else {
		n, err = readAll(ctx, tr, kind, link)
	}
	said := "ok"
	switch {
	case errors.Is(err, ErrLagged):
		said = "lagged"
	case err != nil && !errors.Is(err, context.Canceled):
		said = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	fmt.Println(n, said)
	return nil
}

// sendAll sends messages of some lengths with their numbers.
func sendAll(ctx context.Context, tr *Transport, kind *Kind, link *Link) (n uint64, err error) {
	s, err := tr.NewSender(kind, Config{Linger: 10 * time.Second})
	if err != nil {
		return 0, err
	}
	if _, err := link.Attach(ctx, "members", s); err != nil {
		return 0, err
	}
	for ; ; n++ {
		size := 8 + int(n*37%200)
		l, err := s.Reserve(ctx, size)
		if err == nil {
			binary.LittleEndian.PutUint64(l.Bytes(), n)
			err = l.Commit(size)
		}
		if err != nil {
			return n, errors.Join(err, s.Close())
		}
	}
}

// readAll receives messages with their numbers.
func readAll(ctx context.Context, tr *Transport, kind *Kind, link *Link) (n uint64, err error) {
	r, err := tr.NewReceiver(kind, Config{})
	if err != nil {
		return 0, err
	}
	if _, err := link.Attach(ctx, "members", r); err != nil {
		return 0, err
	}
	for ; ; n++ {
		m, err := r.Receive(ctx)
		if err != nil {
			return n, errors.Join(err, r.Close())
		}
		got := binary.LittleEndian.Uint64(m.Bytes())
		m.Release()
		if got != n {
			return n, fmt.Errorf("message %d, want %d", got, n)
		}
	}
}

// member is such a process.
type member struct {
	cmd  *exec.Cmd
	stop io.Closer
	out  *bufio.Reader
}

// members are processes that are attached, each with a link.
func members(t *testing.T, kind *Kind, end inviter, count int) (list []*member) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	must(t, err)
	listener := Listen(l, LinkConfig{}, nil)
	t.Cleanup(func() { _ = listener.Close() })
	for range count {
		m := &member{cmd: exec.Command(self)}
		m.cmd.Env = append(os.Environ(), memberVariable+"="+socket, memberKindVariable+"="+kind.Name, "GOMAXPROCS=1")
		m.cmd.Stderr = os.Stderr
		if m.stop, err = m.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := m.cmd.StdoutPipe()
		must(t, err)
		m.out = bufio.NewReader(out)
		must(t, m.cmd.Start())
		t.Cleanup(func() { _ = m.cmd.Process.Kill(); _ = m.cmd.Wait() })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		link, err := listener.AcceptLink(ctx)
		must(t, err)
		t.Cleanup(func() { _ = link.Close() })
		_, err = link.Attach(ctx, "members", end)
		cancel()
		must(t, err)
		list = append(list, m)
	}
	return list
}

// end has a member end, and gives what it says.
func (m *member) end(t *testing.T) (n uint64, said string) {
	t.Helper()
	_ = m.stop.Close()
	line, err := m.out.ReadString('\n')
	if err != nil {
		t.Errorf("a process said nothing: %v", err)
	}
	count, said, _ := strings.Cut(strings.TrimSpace(line), " ")
	_, _ = fmt.Sscan(count, &n)
	return n, said
}
