package soft

import (
	"fmt"

	"heddle/verbs"
)

// parseEndpoint reads the words of a QP of a service, on a link. Its errors wrap
// ErrInvalid.
func parseEndpoint(b []byte, service verbs.QPType, link *LinkAttr) (e verbs.EndpointAttr, err error) {
	if e, err = verbs.ParseEndpoint(b); err != nil {
		return e, err
	}
	switch {
	case e.Type != service:
		return e, fmt.Errorf("an endpoint of service %v, and not %v: %w", e.Type, service, verbs.ErrInvalid)
	case e.Link != link.Layer:
		return e, fmt.Errorf("an endpoint on %v from a port on %v: %w", e.Link, link.Layer, verbs.ErrInvalid)
	case e.GIDType == verbs.GIDRoCEv1:
		return e, fmt.Errorf("an endpoint of RoCE v1, which nothing here speaks: %w", verbs.ErrInvalid)
	case link.Layer == verbs.LinkEthernet && len(link.GIDs) > 0 && isMapped(link.GIDs[0].GID) != isMapped(e.GID):
		return e, fmt.Errorf("an endpoint at %v from %v, which is of another family of addresses: %w", e.GID, link.GIDs[0].GID, verbs.ErrInvalid)
	case !e.GID.IsValid() && e.LID == 0:
		return e, fmt.Errorf("an endpoint without an address: %w", verbs.ErrInvalid)
	}
	return e, nil
}

// pathTo leads to an endpoint from a link.
func pathTo(e *verbs.EndpointAttr, from *LinkAttr) Path {
	p := Path{LID: uint16(e.LID), Port: e.Port, Hops: 64}
	if from.Layer == verbs.LinkInfiniBand && e.LID != 0 {
		return p
	}
	p.Remote = e.GID
	if len(from.GIDs) > 0 {
		p.Local = from.GIDs[0].GID
	}
	return p
}
