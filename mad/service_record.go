package mad

import (
	"bytes"
	"slices"

	"heddle/ib"
)

// ServiceRecord is a service that a port offers. A Set registers it, a Delete
// ends it (IBTA 1, 15.2.5.14).
type ServiceRecord struct {
	ServiceID    uint64
	ServiceGID   ib.GID
	ServicePKey  ib.PKey
	ServiceLease uint32 // seconds, ServiceLeaseForever for no end
	ServiceKey   [16]byte
	ServiceName  ServiceName
	// The rest is the service's own.
	Data8  [16]uint8
	Data16 [8]uint16
	Data32 [4]uint32
	Data64 [2]uint64
}

// ServiceLeaseForever is a lease without end.
const ServiceLeaseForever uint32 = 0xFFFFFFFF

// ServiceName is UTF-8 text, padded with zero bytes.
type ServiceName [64]byte

// NewServiceName cuts s to 64 bytes.
func NewServiceName(s string) (n ServiceName) {
	copy(n[:], s)
	return n
}

// String is the text up to the first zero byte.
func (n ServiceName) String() string {
	text, _, _ := bytes.Cut(n[:], []byte{0})
	return string(text)
}

// The components of a ServiceRecord. Those of the data are for the first
// element; shifted left by n, for the one of index n.
const (
	ServiceRecordServiceID ComponentMask = 1 << iota
	ServiceRecordServiceGID
	ServiceRecordServicePKey
	_
	ServiceRecordServiceLease
	ServiceRecordServiceKey
	ServiceRecordServiceName

	ServiceRecordData8  ComponentMask = 1 << 7
	ServiceRecordData16 ComponentMask = 1 << 23
	ServiceRecordData32 ComponentMask = 1 << 31
	ServiceRecordData64 ComponentMask = 1 << 35
)

var serviceRecordLayout = slices.Concat(
	[]Field{
		{Name: "ServiceID", Bits: 64},
		{Name: "ServiceGID", Bits: 128},
		{Name: "ServicePKey", Bits: 16},
		{Bits: 16},
		{Name: "ServiceLease", Bits: 32},
		{Name: "ServiceKey", Bits: 128},
		{Name: "ServiceName", Bits: 512},
	},
	numbered("Data8", 16, 8), numbered("Data16", 8, 16),
	numbered("Data32", 4, 32), numbered("Data64", 2, 64),
)

const serviceRecordLen = 176

// ParseServiceRecord reads the 176 bytes at the start of b.
func ParseServiceRecord(b []byte) (ServiceRecord, error) {
	if err := need("ServiceRecord", b, serviceRecordLen); err != nil {
		return ServiceRecord{}, err
	}
	r := ServiceRecord{
		ServiceID: be.Uint64(b[0:]), ServiceGID: ib.GID(b[8:24]),
		ServicePKey: ib.PKey(be.Uint16(b[24:])), ServiceLease: be.Uint32(b[28:]),
		ServiceKey: [16]byte(b[32:48]), ServiceName: ServiceName(b[48:112]), Data8: [16]uint8(b[112:128]),
	}
	for i := range r.Data16 {
		r.Data16[i] = be.Uint16(b[128+2*i:])
	}
	for i := range r.Data32 {
		r.Data32[i] = be.Uint32(b[144+4*i:])
	}
	for i := range r.Data64 {
		r.Data64[i] = be.Uint64(b[160+8*i:])
	}
	return r, nil
}

// AttrID is AttrServiceRecord.
func (ServiceRecord) AttrID() AttrID { return AttrServiceRecord }

// Len is 176.
func (ServiceRecord) Len() int { return serviceRecordLen }

// AppendTo appends the 176 bytes.
func (r ServiceRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint64(b, r.ServiceID)
	b = append(b, r.ServiceGID[:]...)
	b = be.AppendUint16(b, uint16(r.ServicePKey))
	b = append(b, 0, 0)
	b = be.AppendUint32(b, r.ServiceLease)
	b = append(b, r.ServiceKey[:]...)
	b = append(b, r.ServiceName[:]...)
	b = append(b, r.Data8[:]...)
	for _, v := range r.Data16 {
		b = be.AppendUint16(b, v)
	}
	for _, v := range r.Data32 {
		b = be.AppendUint32(b, v)
	}
	for _, v := range r.Data64 {
		b = be.AppendUint64(b, v)
	}
	return b
}
