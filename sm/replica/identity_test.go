package replica

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
)

// shake lets two ends have a handshake, and gives who each found the other to
// be. A word each way follows, since a TLS 1.3 client is done before the server
// has judged it.
func shake(t *testing.T, client, server *tls.Config) (clientErr, serverErr error) {
	t.Helper()
	a, b := net.Pipe()
	served := make(chan error, 1)
	go func() {
		conn := tls.Server(b, server)
		err := conn.Handshake()
		if err == nil {
			_, err = conn.Write([]byte{1})
		}
		_ = b.Close()
		served <- err
	}()
	conn := tls.Client(a, client)
	err := conn.Handshake()
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	_ = a.Close()
	return err, <-served
}

func mustTLS(t *testing.T, secret []byte, id uint16) *tls.Config {
	t.Helper()
	c, err := tlsConfig(secret, id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestIdentity(t *testing.T) {
	other := bytes.Repeat([]byte("x"), 32)
	ours := mustTLS(t, testSecret, 1)
	anonymous := mustTLS(t, testSecret, 2)
	anonymous.Certificates = nil
	older := mustTLS(t, testSecret, 2)
	older.MaxVersion, older.MinVersion = tls.VersionTLS12, tls.VersionTLS12
	plain := mustTLS(t, testSecret, 2)
	plain.NextProtos = nil
	// Somebody who does not know the secret shows a certificate that was seen,
	// and signs with a key of their own.
	thief := mustTLS(t, testSecret, 2)
	foreign := mustTLS(t, other, 2)
	thief.Certificates = []tls.Certificate{{Certificate: thief.Certificates[0].Certificate, PrivateKey: foreign.Certificates[0].PrivateKey}}
	tests := []struct {
		name string
		peer *tls.Config
		good bool
	}{
		{"peer", mustTLS(t, testSecret, 2), true},
		{"another secret", foreign, false},
		{"own ID", mustTLS(t, testSecret, 1), false},
		{"no certificate", anonymous, false},
		{"TLS 1.2", older, false},
		{"no protocol", plain, false},
		{"seen certificate", thief, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			trusting := test.peer.Clone()
			trusting.VerifyConnection = nil // the peer does not care who we are
			if _, err := shake(t, trusting, ours); (err == nil) != test.good {
				t.Errorf("as a client: %v", err)
			}
			if err, _ := shake(t, ours, trusting); (err == nil) != test.good {
				t.Errorf("as a server: %v", err)
			}
		})
	}
}

func TestAnotherSecretIsNamed(t *testing.T) {
	err, _ := shake(t, mustTLS(t, testSecret, 1), mustTLS(t, bytes.Repeat([]byte("x"), 32), 2))
	if !errors.Is(err, ErrIdentity) || !strings.Contains(err.Error(), "does not know the secret") {
		t.Errorf("error %v", err)
	}
}

func TestPeerID(t *testing.T) {
	a, b := net.Pipe()
	server := tls.Server(b, mustTLS(t, testSecret, 7))
	go func() { _ = server.Handshake() }()
	client := tls.Client(a, mustTLS(t, testSecret, 3))
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if id, err := peerID(client.ConnectionState(), testSecret, 3); id != 7 || err != nil {
		t.Errorf("the peer is %d, %v", id, err)
	}
	_, _ = a.Close(), b.Close()
}
