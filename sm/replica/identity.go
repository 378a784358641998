package replica

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// MinSecret is the least length of a secret. It must be random: whoever can
// make a connection may try guesses at home afterwards.
const MinSecret = 16

// ErrIdentity means that the peer does not know the secret, or has this node's
// own ID.
var ErrIdentity = errors.New("not a peer of this manager")

// protocol is the name that both sides must say in the handshake.
const protocol = "heddle-sm-replica/1"

// memberKey is the key of a member. It is a function of the secret, so that all
// who know that, and only they, can sign with it and know it when they see it.
func memberKey(secret []byte, id uint16) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, secret, []byte(protocol), fmt.Sprintf("member %d", id), ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("replica: key: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// tlsConfig is that of both ends. A certificate is only the envelope of a
// public key and of the ID, its serial number; TLS 1.3 has each side prove that
// it has the private key.
func tlsConfig(secret []byte, id uint16) (*tls.Config, error) {
	key, err := memberKey(secret, id)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(id)), Subject: pkix.Name{CommonName: fmt.Sprintf("heddle-sm-%d", id)},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("replica: certificate: %w", err)
	}
	secret = bytes.Clone(secret)
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // there is no authority and no name; VerifyConnection does it
		SessionTicketsDisabled: true, // so that each connection proves it
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := peerID(s, secret, id)
			return err
		},
	}, nil
}

// peerID tells who is at the other end. It is the one whose key the secret and
// the ID in the certificate give.
func peerID(s tls.ConnectionState, secret []byte, own uint16) (uint16, error) {
	if s.NegotiatedProtocol != protocol || len(s.PeerCertificates) != 1 {
		return 0, fmt.Errorf("%w: it speaks %q, with %d certificates", ErrIdentity, s.NegotiatedProtocol, len(s.PeerCertificates))
	}
	certificate := s.PeerCertificates[0]
	serial := certificate.SerialNumber
	if !serial.IsUint64() || serial.Uint64() == 0 || serial.Uint64() > 1<<16-1 {
		return 0, fmt.Errorf("%w: ID %v", ErrIdentity, serial)
	}
	id := uint16(serial.Uint64())
	key, err := memberKey(secret, id)
	if err != nil {
		return 0, err
	}
	public, ok := certificate.PublicKey.(ed25519.PublicKey)
	switch {
	case !ok || !public.Equal(key.Public()):
		return 0, fmt.Errorf("%w: it does not know the secret", ErrIdentity)
	case id == own:
		return 0, fmt.Errorf("%w: it is this one, or another with its ID %d", ErrIdentity, id)
	}
	return id, nil
}
