package replica

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"heddle/sm/store"
)

// intruder connects to a node as a member of the cluster that does as it likes.
func (c *cluster) intruder(m *member, id uint16) net.Conn {
	c.Helper()
	raw, err := c.network.dial(context.Background(), "intruder", m.name)
	if err != nil {
		c.Fatal(err)
	}
	conn := tls.Client(raw, mustTLS(c.T, testSecret, id))
	if err := conn.Handshake(); err != nil {
		c.Fatal(err)
	}
	return conn
}

// readAll reads until the node gives the connection up, and tells when.
func readAll(conn net.Conn) time.Duration {
	begun := time.Now()
	var buffer []byte
	for {
		var err error
		if _, buffer, err = readFrame(conn, buffer); err != nil {
			return time.Since(begun)
		}
	}
}

func TestHostilePeers(t *testing.T) {
	frame := func(m message) []byte { return m.appendFrame(nil) }
	hello := frame(message{kind: kindHello})
	tests := []struct {
		name string
		send []byte
		at   time.Duration // when the node gives up
	}{
		{"garbage", []byte("GET / HTTP/1.1\r\n\r\n"), 0},
		{"oversized frame", []byte{0xff, 0xff, 0xff, 0xff}, 0},
		{"no hello", frame(message{kind: kindStatus}), 0},
		{"two hellos", append(hello, hello...), 0},
		{"another version", []byte{0, 0, 0, 6, 1, 99, 0, 0, 0, 0}, 0},
		{"a batch to the leader", append(hello, frame(message{kind: kindPart, at: store.Position{Index: 9, Epoch: 9}, last: true})...), 0},
		{"ack of what was not sent", append(append(hello, frame(message{kind: kindFollow})...), frame(message{kind: kindAck, at: store.Position{Index: 1 << 60, Epoch: 1}})...), 0},
		{"silence", hello, 5 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 2, Config{})
				defer c.close()
				leader := c.members[0]
				leader.lead()
				c.settle()
				conn := c.intruder(leader, 9)
				go func() { _, _ = conn.Write(test.send) }()
				if took := readAll(conn); took > test.at {
					t.Errorf("given up after %v, want %v", took, test.at)
				}
				_ = conn.Close()
				leader.join(1, 1, false)
				leader.commit()
				c.settle()
				c.checkAgreed(leader)
			})
		})
	}
}

// TestPeerThatDoesNotRead is given up, and nobody waits for it.
func TestPeerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, Config{Wait: 1})
		defer c.close()
		leader := c.members[0]
		leader.lead()
		c.settle()
		conn := c.intruder(leader, 9)
		defer func() { _ = conn.Close() }()
		hello, follow := message{kind: kindHello}, message{kind: kindFollow}
		go func() { _, _ = conn.Write(follow.appendFrame(hello.appendFrame(nil))) }()
		for i := range 100 {
			leader.join(i%20, i%9, false)
			leader.commit()
		}
		synctest.Wait()
		if n := leader.node.Status().Waiting; n != 0 {
			t.Errorf("%d batches wait", n)
		}
		c.settle()
		if n := len(leader.node.Status().Peers); n != 2 {
			t.Errorf("%d connections", n)
		}
		c.checkAgreed(leader)
	})
}

// TestStrangerKeepsNobodyOut opens connections and says nothing.
func TestStrangerKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, Config{})
		defer c.close()
		c.network.set("sm1", "sm2", true)
		leader := c.members[0]
		leader.lead()
		for range 2 * handshakes {
			raw, err := c.network.dial(t.Context(), "stranger", "sm1")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = raw.Close() }()
		}
		c.network.set("sm1", "sm2", false)
		c.settle()
		c.checkAgreed(leader)
	})
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{ID: 1, Secret: testSecret, Peers: []string{"a"}, Wait: 1}
	s := store.InMemory(store.Options{})
	defer s.Close()
	if _, err := New(s, good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(c *Config){
		"no ID":             func(c *Config) { c.ID = 0 },
		"short secret":      func(c *Config) { c.Secret = c.Secret[:15] },
		"waits for nobody":  func(c *Config) { c.Wait = 2 },
		"dead at once":      func(c *Config) { c.Heartbeat, c.Dead = 2, 1 },
		"limit below zero":  func(c *Config) { c.WaitLimit = -1 },
		"backoff backwards": func(c *Config) { c.MinBackoff, c.MaxBackoff = 2, 1 },
		"log below zero":    func(c *Config) { c.Log = -1 },
	} {
		c := good
		spoil(&c)
		if _, err := New(s, c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
