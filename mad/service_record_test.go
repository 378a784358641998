package mad

import (
	"fmt"
	"testing"

	"heddle/ib"
)

// saquery has no place for the last element: libumad2sim.so cuts what stands
// behind byte 224 of a datagram.
func (r ServiceRecord) saquery() []string {
	lines := []string{
		"ServiceRecord dump:", fmt.Sprintf("ServiceID %#016x", r.ServiceID), line("ServiceGID", r.ServiceGID),
		hexLine("ServiceP_Key", r.ServicePKey), hexLine("ServiceLease", r.ServiceLease),
		fmt.Sprintf("ServiceKey 0x%x", r.ServiceKey), line("ServiceName", r.ServiceName),
	}
	for i, v := range r.Data8 {
		lines = append(lines, hexLine(fmt.Sprintf("ServiceData8.%d", i+1), v))
	}
	for i, v := range r.Data16 {
		lines = append(lines, hexLine(fmt.Sprintf("ServiceData16.%d", i+1), v))
	}
	for i, v := range r.Data32 {
		lines = append(lines, hexLine(fmt.Sprintf("ServiceData32.%d", i+1), v))
	}
	return append(lines, fmt.Sprintf("ServiceData64.1 %#016x", r.Data64[0]))
}

// TestServiceRecord: OpenSM got the record over libumad2sim.so, which cut the
// last element, and hides the key.
func TestServiceRecord(t *testing.T) {
	want := ServiceRecord{
		ServiceID: 0x1122334455667788, ServiceGID: ib.MustParseGID("fe80::10:4"), ServicePKey: 0xFFFF, ServiceLease: 3600,
		ServiceName: NewServiceName("heddle.test"),
	}
	for i := range want.Data8 {
		want.Data8[i] = uint8(0x10 + i)
	}
	for i := range want.Data16 {
		want.Data16[i] = uint16(0x2000 + i)
	}
	for i := range want.Data32 {
		want.Data32[i] = uint32(0x30000000 + i)
	}
	want.Data64[0] = 0x4000000000000000
	list := recorded(t, "service_record.hex")
	checkRequest(t, list[0], ParseServiceRecord, 0, ServiceRecord{})
	checkAnswer(t, list[1], ParseServiceRecord, want)
}
